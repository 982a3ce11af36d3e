package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Doubts lists attempts in doubt, those of the newest runs first. A page has the attempts of at most
// Limit runs. [Runs.Resolve] settles one of them.
//
// Errors: not_found, conflict (the ID matches several runs), forbidden.
func (r *Runs) Doubts(ctx context.Context, by domain.Actor, f domain.DoubtFilter) (domain.List[domain.Doubt], error) {
	var out domain.List[domain.Doubt]
	if err := r.allow(ctx, ListDoubts, by, ""); err != nil {
		return out, err
	}
	var runs []domain.Run
	if f.Run != "" {
		run, err := r.find(ctx, f.Run)
		if err != nil {
			return out, err
		}
		runs = append(runs, run)
	} else {
		list, err := r.store.Runs(ctx, domain.RunFilter{
			WaitReasons: []domain.WaitReason{domain.WaitInDoubt}, PlanKey: f.Plan, Page: f.Page,
		})
		if err != nil {
			return out, err
		}
		runs, out.Next = list.Items, list.Next
	}
	for _, run := range runs {
		if f.Plan != "" && run.PlanKey != f.Plan {
			continue
		}
		d, err := r.engine.Detail(ctx, run.ID)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, domain.DoubtsIn(d, f.Node)...)
	}
	return out, nil
}
