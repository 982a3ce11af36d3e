package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Journal reads the whole journal of a run. The error is CodeCorrupt if a row is damaged or
// missing, also at the end.
func (in *Inspector) Journal(ctx context.Context, r domain.Run) ([]domain.Entry, error) {
	rows, err := in.c.Store.Journal(ctx, r.ID, 0)
	if n := int64(len(rows)); err == nil && r.PurgedAt.IsZero() && n < r.LastSeq {
		return rows, domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s is missing", n+1, r.ID)
	}
	return rows, err
}

// damage splits a damaged journal. It returns nil if cause is another error, or if the file cannot
// be read at all.
func (in *Inspector) damage(ctx context.Context, r domain.Run, cause error) *preview.DamagedJournal {
	if domain.CodeOf(cause) != domain.CodeCorrupt {
		return nil
	}
	rows, bad, err := in.c.Store.Intact(ctx, r.ID, r.LastSeq)
	if err != nil {
		return nil
	}
	if now, err := in.c.Store.Run(ctx, r.ID); err != nil || !now.PurgedAt.IsZero() {
		return nil // retention deleted the journal in the meantime
	}
	n := 0
	for n < len(rows) && rows[n].Seq == int64(n)+1 {
		n++
	}
	d := &preview.DamagedJournal{Good: rows[:n:n], After: rows[n:], Rows: bad}
	if at, ok := errors.AsType[runstate.InvalidRow](cause); ok {
		d.Cut(int64(at))
	}
	if len(d.Rows) == 0 {
		return nil
	}
	d.Message = cause.Error()
	return d
}

// Salvaged returns the view of a run. If its journal is damaged, the view contains the rows before
// the damage and a description of the rest.
func (in *Inspector) Salvaged(ctx context.Context, run string) (*preview.View, error) {
	v, err := in.View(ctx, run)
	if d, is := in.Salvage(ctx, run, err, in.c.Versions.Compile); is {
		return d, nil
	}
	return v, err
}

// Salvage returns the view of a run with a damaged journal, if cause is such damage.
func (in *Inspector) Salvage(ctx context.Context, run string, cause error, compile compileFunc) (*preview.View, bool) {
	if domain.CodeOf(cause) != domain.CodeCorrupt {
		return nil, false
	}
	r, err := in.c.Store.Run(ctx, run)
	if err != nil {
		return nil, false
	}
	if err := r.Corrupt(); err != nil {
		return in.halved(ctx, r, err), true
	}
	d := in.damage(ctx, r, cause)
	if d == nil {
		return nil, false
	}
	input, err := runstate.Decode(r.Input)
	if err != nil {
		return nil, false
	}
	for {
		hash, err := in.versionAfter(ctx, r, d.Good)
		if err != nil {
			return nil, false
		}
		p, err := compile(ctx, domain.ProgramRef{Hash: hash, Profile: r.Profile})
		if err != nil {
			return nil, false
		}
		s, err := in.Fold(ctx, p, r, input, d.Good, true)
		if at, ok := errors.AsType[runstate.InvalidRow](err); ok && at >= 1 && int64(at) <= int64(len(d.Good)) {
			d.Cut(int64(at))
			d.Message = err.Error()
			continue
		}
		if err != nil {
			return nil, false
		}
		v := &preview.View{Env: in.c.Env, Run: r, Program: p, Journal: d.Good, State: s, After: d.After}
		v.Damage = v.DescribeDamage(d)
		return v, true
	}
}

// halved returns the view of a run without its input or settings. Its results can be read, but
// nothing can be computed from it.
func (in *Inspector) halved(ctx context.Context, r domain.Run, cause error) *preview.View {
	journal, err := in.c.Store.Journal(ctx, r.ID, 0) // the intact rows, if there is an error
	v := &preview.View{Env: in.c.Env, Run: r, Journal: journal, Damage: preview.UnreadableDamage(cause)}
	v.Damage.Parts, v.Damage.Good = r.Damaged, int64(len(journal))
	if err != nil {
		v.Damage.Message += "; " + err.Error()
	}
	return v
}

// versionAfter returns the hash of the version that a run follows after rows of its journal. The
// run's own hash applies only after the last row.
func (in *Inspector) versionAfter(ctx context.Context, r domain.Run, rows []domain.Entry) (string, error) {
	for _, row := range slices.Backward(rows) {
		var p runstate.Replan
		if row.Kind == domain.EntryReplan && json.Unmarshal(row.Decision, &p) == nil && p.Hash != "" {
			return p.Hash, nil
		}
	}
	// The record of its creation contains its first version.
	events, err := in.c.Store.EventsAfter(ctx, 0, r.ID, 8)
	if err != nil {
		return "", err
	}
	for _, ev := range events {
		var created struct {
			Hash string `json:"hash"`
		}
		if ev.Action == "run.created" && json.Unmarshal(ev.Detail, &created) == nil && created.Hash != "" {
			return created.Hash, nil
		}
	}
	return r.Hash, nil
}
