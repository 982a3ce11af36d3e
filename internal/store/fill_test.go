package store

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Template is a real run with its audit events, for many copies.
type Template struct {
	Run    domain.Run
	Events []domain.AuditEvent // with their journal rows
}

// FillRun defines which template the next run repeats, when it was created, and its labels.
type FillRun struct {
	Template *Template
	At       time.Time
	Labels   map[string]string
	Uses     []domain.Use
}

const fillRunSQL = `INSERT INTO runs (public_id, tail, plan_id, version_id, status, wait_reason, attention, last_seq, steps,
path, headline, node, error_code,
actor, origin, due_at, created_at, started_at, ended_at, running_us, fingerprint) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
?, ?, ?, ?, ?, ?, ?, ?, ?)`

// Fill stores n runs through the writer, many per transaction. The rows, hashes, counters, and
// audit chain equal those of real runs.
func Fill(s *Store, n int, next func(i int) FillRun) error {
	const chunk = 250
	var insert *sql.Stmt
	versions := map[string]dbsqlc.VersionByHashRow{}
	real := s.now
	defer func() { s.now = real }()
	for done := 0; done < n; done += chunk {
		err := s.writer.perform(func(w *writer) ([]auditRow, error) {
			var err error
			if insert == nil {
				if insert, err = w.conn.PrepareContext(w.ctx, fillRunSQL); err != nil {
					return nil, err
				}
			}
			var rows []auditRow
			for i := done; i < min(done+chunk, n); i++ {
				f := next(i)
				w.s.now = func() time.Time { return f.At }
				v, ok := versions[f.Template.Run.Hash]
				if !ok {
					if v, err = w.q.VersionByHash(w.ctx, f.Template.Run.Hash); err != nil {
						return nil, err
					}
					versions[f.Template.Run.Hash] = v
				}
				if rows, err = w.fillRun(insert, f, &v.PlanVersion, rows); err != nil {
					return nil, err
				}
			}
			return rows, nil
		})
		if err != nil {
			return fmt.Errorf("run %d: %w", done, err)
		}
	}
	return insert.Close()
}

func (w *writer) fillRun(insert *sql.Stmt, f FillRun, v *dbsqlc.PlanVersion, rows []auditRow) ([]auditRow, error) {
	t := &f.Template.Run
	id, shift := domain.NewID(), f.At.Sub(t.CreatedAt)
	move := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return at.Add(shift)
	}
	attention := core.Flag(core.NeedsAttention(string(t.Status), string(t.WaitReason), 0))
	code, fingerprint := "", ""
	if t.Error != nil {
		code, fingerprint = t.Error.Code, t.Error.Fingerprint()
	}
	r, err := insert.ExecContext(
		w.ctx,
		id,
		core.Reversed(id),
		v.PlanID,
		v.ID,
		string(t.Status),
		string(t.WaitReason),
		attention,
		t.LastSeq,
		t.Steps,
		t.Path,
		t.Headline,
		t.Node,
		code,
		t.Actor,
		t.Origin,
		core.Micros(move(t.DueAt)),
		core.Micros(f.At),
		core.Micros(move(t.StartedAt)),
		core.Micros(move(t.EndedAt)),
		t.RunningTime.Microseconds(),
		fingerprint,
	)
	if err != nil {
		return nil, err
	}
	rowID, err := r.LastInsertId()
	if err != nil {
		return nil, err
	}
	d := dbsqlc.RunDetailInsertParams{
		RunID:   rowID,
		Input:   core.JSONText(t.Input),
		Session: id,
		Limits:  "{}",
		Labels:  core.EncodeJSON(f.Labels),
	}
	if err := w.q.RunDetailInsert(w.ctx, d); err != nil {
		return nil, err
	}
	for k, value := range f.Labels {
		if err := w.q.RunLabelInsert(w.ctx, k, value, rowID); err != nil {
			return nil, err
		}
	}
	if err := w.wordsOf(rowID); err != nil {
		return nil, err
	}
	w.tally.counts[countKey{string(t.Status), string(t.WaitReason)}]++
	if ended := move(t.EndedAt); !ended.IsZero() {
		w.tally.outcomes[endedKey{v.PlanID, core.SlotOf(core.Micros(ended)), v.ID, string(t.Status)}]++
	}
	for _, u := range f.Uses {
		if err := w.q.RunUsePut(w.ctx, u.Kind, u.Name, rowID); err != nil {
			return nil, err
		}
	}
	for _, e := range f.Template.Events {
		row := auditRow{rowID: rowID, firstSeq: e.FirstSeq, runSeq: e.RunSeq, record: e.AuditRecord}
		row.record.Run = id
		if row.record.Action == core.ActionCreated {
			seal := sealed{id: id, actor: t.Actor, origin: t.Origin, session: d.Session, labels: d.Labels, input: d.Input}
			plain, _, _ := strings.Cut(string(row.record.Detail), `,"seal":`) // the template's
			row.record.Detail = domain.RawJSON(plain + "}")
			row.record = seal.into([]domain.AuditRecord{row.record})[0]
		}
		sum := sha256.New()
		for i := range e.Entries {
			entry := e.Entries[i]
			entry.At, entry.StartedAt, entry.DueAt = move(entry.At), move(entry.StartedAt), move(entry.DueAt)
			var step core.StepRow
			if err := w.s.step(id, &entry, &step, nil); err != nil {
				return nil, err
			}
			step.RunID, step.AuditSeq = rowID, w.chain.next+int64(len(rows))+1
			if err := w.direct.insertStep(&step); err != nil {
				return nil, err
			}
			sum.Write(step.Hash)
		}
		if len(e.Entries) > 0 {
			row.digest = sum.Sum(nil)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
