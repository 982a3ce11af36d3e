package store

import (
	"context"
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
// removed. The digests of a run that took very long, beside much else,
// are those of its last rows.
func (s *Store) Kept(ctx context.Context, run string) (domain.KeptDigests, error) {
	var out domain.KeptDigests
	id, err := s.db.RowID(ctx, run)
	if err != nil {
		return out, err
	}
	// Its other events are found by an index, and stand beside those of its rows.
	var first, last int64
	events, err := s.q.KeptEvents(ctx, &id)
	if err != nil {
		return out, core.Translate(err, "read the audit log")
	}
	for _, e := range events {
		if first == 0 {
			first = e.Seq
		}
		last = e.Seq
		var created struct {
			Seal string `json:"seal"`
		}
		if e.Action == actionCreated && e.Detail != nil && json.Unmarshal([]byte(*e.Detail), &created) == nil {
			out.Created = created.Seal
		}
	}
	const beside = 16
	low := max(first-beside, last-keptScan)
	rows, err := s.q.KeptDigests(ctx, low, last+beside, &id)
	for _, r := range rows {
		out.Rows = append(out.Rows, domain.KeptDigest{Event: r.Seq, First: r.FirstSeq, Last: r.RunSeq, Digest: hex.EncodeToString(r.Digest)})
	}
	slices.SortFunc(out.Rows, func(a, b domain.KeptDigest) int { return int(a.First - b.First) })
	return out, core.Translate(err, "read the audit log")
}
