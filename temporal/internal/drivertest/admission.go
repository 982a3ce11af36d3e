package drivertest

import (
	"slices"

	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// queue lets a new child run wait for its concurrency key, whose limit is 1, or refuses it. The caller holds mu.
func (p *Reports) queue(run *domain.Run) error {
	if run.Parent == nil || run.Concurrency == nil {
		return nil
	}
	key := run.Concurrency.Key
	if _, err := run.Concurrency.Admit(p.keys[key]); err != nil {
		return temporal.NewNonRetryableApplicationError(err.Error(), string(domain.CodeOf(err)), nil)
	}
	if p.keys == nil {
		p.keys = map[string][]string{}
	}
	p.keys[key] = append(p.keys[key], run.ID)
	if p.keys[key][0] == run.ID {
		return p.admit(run.ID)
	}
	return nil
}

// free admits the next child run when one has ended. The caller holds mu.
func (p *Reports) free(run *domain.Run) error {
	if run.Concurrency == nil || !run.Status.Final() {
		return nil
	}
	key := run.Concurrency.Key
	first := len(p.keys[key]) > 0 && p.keys[key][0] == run.ID
	p.keys[key] = slices.DeleteFunc(p.keys[key], func(id string) bool { return id == run.ID })
	if first && len(p.keys[key]) > 0 {
		return p.admit(p.keys[key][0])
	}
	return nil
}

func (p *Reports) admit(run string) error {
	return p.w.Env.SignalWorkflowByID(run, wire.AdmitSignal, wire.Signed{})
}
