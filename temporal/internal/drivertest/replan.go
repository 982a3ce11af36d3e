package drivertest

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/replan"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Replan calls the planner of the registry, or stores the version of its recorded answer, as kairosd does.
func (p *Reports) Replan(ctx context.Context, q wire.Replan) (out wire.Replanned, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := func(usage domain.Usage, err error) (wire.Replanned, error) {
		return wire.Replanned{Failure: err.Error(), Usage: usage}, nil
	}
	run, rows := p.runs[q.Run], p.journal[q.Run]
	prog, state, err := p.programs.Fold(run, rows, func(hash string) (domain.Version, error) { return p.w.VersionByHash(ctx, hash) })
	if err != nil {
		return out, err
	}
	from := p.w.versions[run.Hash]
	w, req, err := replan.Request(&preview.View{Run: run, Program: prog, Journal: rows, State: state}, from)
	if err != nil {
		return failed(domain.Usage{}, err)
	}
	answer, recorded, err := replan.Recorded(w)
	if err != nil {
		return out, err
	}
	if !recorded {
		if p.Planning != nil {
			p.Planning()
		}
		if answer, err = p.w.Registry.Replanner.Replan(ctx, req); err != nil {
			return failed(answer.Usage, err)
		}
		return wire.Replanned{Usage: answer.Usage,
			Answer: &runstate.PlannerAnswer{Source: string(answer.Source), Reason: answer.Reason, Unsafe: answer.Unsafe}}, nil
	}
	doc, problems := planner.Parse(answer.Source, planner.WithFormat(planner.FormatJSON), planner.WithCatalog(p.w.Registry.Catalog()))
	n, err := replan.Version(doc, problems, from, answer.Reason)
	if err != nil {
		return failed(domain.Usage{}, err)
	}
	if _, known := p.w.versions[n.Hash]; !known {
		p.w.versions[n.Hash] = domain.Version{PlanID: from.PlanID, PlanKey: n.Key, Number: len(p.w.versions) + 1, Hash: n.Hash,
			Semantics: walk.Semantics, Kind: n.Kind, Format: n.Format, Source: n.Source, Origin: n.Origin, ParentHash: n.ParentHash}
	}
	v := p.w.versions[n.Hash]
	out.Target, out.Unsafe = runstate.ReplanTarget{Hash: v.Hash, Version: v.Number, Reason: answer.Reason}, answer.Unsafe
	err = launch.Replanned(ctx, p.w, &p.programs, run, state.Plans,
		launch.Settings{Agents: func(*runstate.Compiled) []string { return nil }}, &out)
	return out, err
}
