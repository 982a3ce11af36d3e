package query

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// knownSQL finds the different values of an indexed column by jumping from one to
// the next: it reads as many rows as there are values, not as there are runs.
var knownSQL = map[string]string{
	"error": `WITH RECURSIVE v (x) AS (
	SELECT min(error_code) FROM runs INDEXED BY runs_by_error WHERE deleted_at = 0 AND error_code <> ''
	UNION ALL SELECT (SELECT min(error_code) FROM runs INDEXED BY runs_by_error WHERE deleted_at = 0 AND error_code <> '' AND error_code > x) FROM v WHERE x IS NOT NULL
) SELECT x FROM v WHERE x IS NOT NULL LIMIT ?`,
	"by": `WITH RECURSIVE v (x) AS (
	SELECT min(actor) FROM runs INDEXED BY runs_by_actor WHERE deleted_at = 0
	UNION ALL SELECT (SELECT min(actor) FROM runs INDEXED BY runs_by_actor WHERE deleted_at = 0 AND actor > x) FROM v WHERE x IS NOT NULL
) SELECT x FROM v WHERE x IS NOT NULL LIMIT ?`,
	domain.UseAgent:    knownUses,
	domain.UseTool:     knownUses,
	domain.UseProvider: knownUses,
}

const knownUses = `WITH RECURSIVE v (x) AS (
	SELECT min(name) FROM run_uses WHERE kind = ?2
	UNION ALL SELECT (SELECT min(name) FROM run_uses WHERE kind = ?2 AND name > x) FROM v WHERE x IS NOT NULL
) SELECT x FROM v WHERE x IS NOT NULL LIMIT ?1`

// Known lists the values that runs have under a key of the filter, in their
// order, at most limit: error codes, people, agents, tools or providers;
// CodeInvalid for another key.
func (s *Lists) Known(ctx context.Context, key string, limit int) ([]string, error) {
	text := knownSQL[key]
	if text == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the values of %q are not known", key)
	}
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	args := []any{limit}
	if text == knownUses {
		args = append(args, key)
	}
	rows, err := s.db.Read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, core.Translate(err, "list values")
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, core.Translate(err, "list values")
		}
		out = append(out, v)
	}
	return out, core.Translate(rows.Err(), "list values")
}
