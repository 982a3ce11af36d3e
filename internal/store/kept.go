package store

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// keptScan bounds how many audit events are read for the digests of one run: those
// of others stand between them.
const keptScan = 20_000

// Kept gives the digests that the audit log keeps of a run whose journal retention
// removed (ruling 19). The digests of a run that took very long, beside much else,
// are those of its last rows.
func (s *Store) Kept(ctx context.Context, run string) (domain.KeptDigests, error) {
	var out domain.KeptDigests
	id, err := s.db.RowID(ctx, run)
	if err != nil {
		return out, err
	}
	// Its other events are found by an index, and stand beside those of its rows.
	var first, last int64
	err = s.db.EachRow(ctx, `SELECT seq, action, detail FROM audit_events
WHERE run_id = ? AND run_id IS NOT NULL AND digest IS NULL AND action IN ('run.created', 'run.status') ORDER BY seq`, core.Ordinals(id), func(v []driver.Value) error {
		f := core.Fields{Values: v}
		seq, action, detail := f.Int(), f.Text(), f.TextOrNull()
		if first == 0 {
			first = seq
		}
		last = seq
		var created struct {
			Seal string `json:"seal"`
		}
		if action == actionCreated && detail != nil && json.Unmarshal([]byte(*detail), &created) == nil {
			out.Created = created.Seal
		}
		return f.Err
	})
	if err != nil {
		return out, translate(err, "read the audit log")
	}
	const beside = 16
	low := max(first-beside, last-keptScan)
	err = s.db.EachRow(ctx, `SELECT seq, first_seq, run_seq, digest FROM audit_events WHERE seq BETWEEN ? AND ? AND +run_id = ? AND digest IS NOT NULL ORDER BY seq`,
		core.Ordinals(low, last+beside, id), func(v []driver.Value) error {
			f := core.Fields{Values: v}
			out.Rows = append(out.Rows, domain.KeptDigest{Event: f.Int(), First: f.Int(), Last: f.Int(), Digest: hex.EncodeToString(f.Blob())})
			return f.Err
		})
	slices.SortFunc(out.Rows, func(a, b domain.KeptDigest) int { return int(a.First - b.First) })
	return out, translate(err, "read the audit log")
}
