package query

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Tables returns the size of each table with its indexes, largest first. It reads every page, which
// takes minutes for a large database.
func (s *SummaryReader) Tables(ctx context.Context) ([]domain.TableStorage, error) {
	rows, err := s.db.Read.QueryContext(ctx, `SELECT m.tbl_name, sum(d.pgsize), sum(CASE m.type WHEN 'index' THEN d.pgsize ELSE 0 END)
FROM dbstat AS d JOIN sqlite_schema AS m ON m.name = d.name WHERE d.aggregate = TRUE GROUP BY m.tbl_name ORDER BY 2 DESC, 1`)
	if err != nil {
		return nil, core.Translate(err, "measure the tables")
	}
	defer rows.Close()
	var out []domain.TableStorage
	for rows.Next() {
		var t domain.TableStorage
		if err := rows.Scan(&t.Table, &t.Bytes, &t.Index); err != nil {
			return nil, core.Translate(err, "measure the tables")
		}
		out = append(out, t)
	}
	return out, core.Translate(rows.Err(), "measure the tables")
}
