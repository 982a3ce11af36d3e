package store

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// The input of a run and its other fixed fields are not covered by a row hash. The record of its
// creation therefore contains a digest of them, the seal. The audit chain covers that record.

// sealed are the fixed fields of a run.
type sealed struct {
	id, actor, origin, key, concKey, parentRun, forkedFrom, rerunOf string
	session, labels, parent, concurrency                            string
	schedule, slot, undoes, profile                                 string
	input                                                           *string // as stored: the hash of a large value
	priority, forkSeq, startAt                                      int64
}

// seal is the SHA-256 of all fields, each with its length.
func (f *sealed) seal() string {
	var b []byte
	for _, n := range []int64{f.priority, f.forkSeq, f.startAt} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	for _, s := range []string{f.id, f.actor, f.origin, f.key, f.concKey, f.parentRun, f.forkedFrom, f.rerunOf, f.session, f.labels,
		f.parent, f.concurrency} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	if f.input != nil {
		b = append(append(b, 1), *f.input...)
	}
	if f.schedule != "" {
		for _, s := range []string{f.schedule, f.slot} {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
		}
	}
	if f.undoes != "" {
		b = append(append(b, "undoes "...), f.undoes...)
	}
	if f.profile != "" {
		b = append(append(b, "\x00profile "...), f.profile...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// into adds the seal to the record of the run's creation, if there is one.
func (f *sealed) into(records []domain.AuditRecord) []domain.AuditRecord {
	if len(records) == 0 || records[0].Action != core.ActionCreated {
		return records
	}
	records = slices.Clone(records)
	seal := `"seal":"` + f.seal() + `"}`
	if detail := string(records[0].Detail); len(detail) > len(`{}`) {
		records[0].Detail = domain.RawJSON(strings.TrimSuffix(detail, "}") + "," + seal)
	} else {
		records[0].Detail = domain.RawJSON("{" + seal)
	}
	return records
}

// checkSeals compares the seals in part of the audit log with the stored fields. It accepts fields
// that retention deleted.
func (s auditLog) checkSeals(ctx context.Context, events []dbsqlc.AuditEvent) (problems []string, err error) {
	want := map[int64]*dbsqlc.AuditEvent{}
	low, high := int64(0), int64(0)
	for i := range events {
		e := &events[i]
		if e.Action != core.ActionCreated || e.RunID == nil || e.Detail == nil {
			continue
		}
		want[*e.RunID] = e
		if low == 0 || *e.RunID < low {
			low = *e.RunID
		}
		high = max(high, *e.RunID)
	}
	if len(want) == 0 {
		return nil, nil
	}
	err = s.store.db.EachRow(ctx, dbsqlc.CheckSeals, core.Ordinals(low, high), func(v []driver.Value) error {
		row := core.Fields{Values: v}
		id := row.Int()
		f := sealed{
			id:         row.Text(),
			actor:      row.Text(),
			origin:     row.Text(),
			key:        core.OrEmpty(row.TextOrNull()),
			concKey:    row.Text(),
			parentRun:  row.Text(),
			forkedFrom: row.Text(),
			rerunOf:    row.Text(),
			session:    row.Text(),
			labels:     row.Text(),
			parent:     core.OrEmpty(row.TextOrNull()),
			concurrency: core.OrEmpty(
				row.TextOrNull(),
			),
			input:    row.TextOrNull(),
			priority: row.Int(),
			forkSeq:  row.Int(),
			startAt:  row.Int(),
		}
		purged, e := row.Int() != 0, want[id]
		f.schedule, f.slot, f.undoes, f.profile = row.Text(), row.Text(), row.Text(), row.Text()
		if delete(want, id); row.Err != nil || e == nil || purged {
			return row.Err
		}
		var detail struct {
			Seal string `json:"seal"`
		}
		if err := json.Unmarshal([]byte(*e.Detail), &detail); err != nil {
			problems = append(problems, fmt.Sprintf("event %d has no readable record of run %s", e.Seq, f.id))
		} else if detail.Seal != "" && detail.Seal != f.seal() {
			problems = append(problems, fmt.Sprintf("the input or a setting of run %s was changed after event %d", f.id, e.Seq))
		}
		return nil
	})
	if err != nil {
		return nil, core.Translate(err, "read runs")
	}
	for _, e := range want {
		problems = append(problems, fmt.Sprintf("event %d created a run that is missing", e.Seq))
	}
	return problems, nil
}
