package query

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Intact reads a journal row by row, even if it is damaged. It returns the intact rows in order,
// and the rows that are damaged or missing up to last, the known end of the journal. It changes
// nothing. If SQLite cannot read the file, the error is CodeCorrupt.
func (s *JournalReader) Intact(ctx context.Context, runID string, last int64) ([]domain.Entry, []domain.DamagedRow, error) {
	type read struct {
		row core.StepRow
		err error
	}
	var rows []read
	err := s.db.EachRow(ctx, dbsqlc.CheckStepsOfRun,
		[]driver.NamedValue{{Ordinal: 1, Value: runID}}, func(v []driver.Value) error {
			f := core.Fields{Values: v}
			row := core.StepOf(&f)
			rows = append(rows, read{row, f.Err})
			return nil
		})
	if err != nil {
		return nil, nil, core.Translate(err, "read the journal of run "+runID)
	}
	good, bad, next := make([]domain.Entry, 0, len(rows)), []domain.DamagedRow(nil), int64(1)
	missing := func(to int64) {
		for ; next < to; next++ {
			bad = append(bad, domain.DamagedRow{Seq: next, Problem: domain.RowMissing, Item: -1})
		}
	}
	for i := range rows {
		r := &rows[i].row
		if r.Seq >= next && r.Seq <= last { // otherwise the sequence number itself is damaged
			missing(r.Seq)
			next = r.Seq + 1
		}
		var e domain.Entry
		err := rows[i].err
		if err == nil {
			if e, err = s.db.Entry(ctx, runID, *r); err == nil {
				if r.Seq >= next { // written after last was determined
					missing(r.Seq)
					next = r.Seq + 1
				}
				good = append(good, e)
				continue
			}
			if domain.CodeOf(err) != domain.CodeCorrupt {
				return nil, nil, err
			}
		}
		d := domain.DamagedRow{
			Seq:     r.Seq,
			Problem: domain.RowChecksum,
			Kind:    domain.EntryKind(r.Kind),
			Node:    r.Node,
			Visit:   int(r.Visit),
			Item:    int(r.Item),
			Attempt: int(r.Attempt),
			Status:  domain.NodeStatus(r.Status),
			Effect:  r.Effect,
		}
		if e.Seq != 0 {
			d.Problem = domain.RowValue // the row matches its checksum, so a value is damaged
		}
		bad = append(bad, d)
	}
	missing(last + 1)
	slices.SortStableFunc(bad, func(a, b domain.DamagedRow) int { return cmp.Compare(a.Seq, b.Seq) })
	return good, bad, nil
}
