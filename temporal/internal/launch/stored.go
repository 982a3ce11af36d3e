package launch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Settings are what a workflow needs beside its run.
type Settings struct {
	Options   runstate.Options
	Key       []byte
	LostAfter time.Duration
	// Control is the task queue of kairosd, which receives reports.
	Control string
	// Signer is the key that verifies the signatures of kairosd.
	Signer []byte
	// Agents returns the agents of the steps of a program, by index.
	Agents func(p *runstate.Compiled) []string
	// Budgets are the scopes of all shared budgets.
	Budgets budget.Scopes
	// Callback returns the callback address of a run.
	Callback func(run string) string
}

// Stored returns the input of a workflow that executes a run of kairosd's record from its last row on.
func Stored(ctx context.Context, plans Plans, programs *driver.Programs, run domain.Run, rows []domain.Entry, s Settings) (wire.Input,
	error) {
	c := collector{plans: plans, programs: programs, profile: run.Profile, in: wire.Input{Driver: driver.Version, Run: run, Journal: rows,
		Versions: map[string]domain.Version{}, Plans: map[string]string{}, Options: s.Options,
		Key: s.Key, LostAfter: s.LostAfter, Report: true, Control: s.Control, Signer: s.Signer, Known: true,
		Budgets: s.Budgets}}
	p, state, err := programs.Fold(run, rows, func(hash string) (domain.Version, error) { return plans.VersionByHash(ctx, hash) })
	if err != nil {
		return wire.Input{}, err
	}
	maps.Copy(c.in.Plans, state.Plans) // the versions that the run follows since it was created
	for _, hash := range slices.Sorted(maps.Values(state.Plans)) {
		if _, err := c.add(ctx, hash); err != nil {
			return wire.Input{}, err
		}
	}
	if p.Callback && s.Callback != nil {
		c.in.Callback = s.Callback(run.ID)
	}
	for _, hash := range Followed(rows) {
		if _, err := c.add(ctx, hash); err != nil {
			return wire.Input{}, err
		}
	}
	if w := state.Replanning(); w != nil && w.ReplanTarget != nil {
		if c.in.Next, err = c.next(ctx, run.ID, w.ReplanTarget.Hash, s); err != nil {
			return wire.Input{}, err
		}
	}
	_, err = c.add(ctx, run.Hash)
	c.in.Shrink()
	return c.in, err
}

// Followed returns the versions that a run has followed before replans.
func Followed(rows []domain.Entry) (list []string) {
	for i := range rows {
		var r runstate.Replan
		if rows[i].Kind == domain.EntryReplan && json.Unmarshal(rows[i].Decision, &r) == nil { // the fold has checked the row
			list = append(list, r.From)
		}
	}
	return list
}

// next adds a version that a run may follow, with its sub-plans.
func (c *collector) next(ctx context.Context, run, hash string, s Settings) (*wire.Next, error) {
	p, err := c.add(ctx, hash)
	if err != nil {
		return nil, err
	}
	n := &wire.Next{Hash: hash, Agents: s.Agents(p)}
	if p.Callback && s.Callback != nil {
		n.Callback = s.Callback(run)
	}
	return n, nil
}

// Replanned adds to the result of a replan what the workflow needs to follow the version. known are the versions of the sub-plans
// that the run follows already.
func Replanned(ctx context.Context, plans Plans, programs *driver.Programs, run domain.Run, known map[string]string, s Settings,
	r *wire.Replanned) error {
	c := collector{plans: plans, programs: programs, profile: run.Profile,
		in: wire.Input{Versions: map[string]domain.Version{}, Plans: maps.Clone(known)}}
	if c.in.Plans == nil {
		c.in.Plans = map[string]string{}
	}
	var err error
	r.Next, err = c.next(ctx, run.ID, r.Target.Hash, s)
	r.Versions, r.Plans = c.in.Versions, c.in.Plans
	return err
}

// Check returns an error if a plan, or one that it starts, cannot be found or compiled.
func Check(ctx context.Context, plans Plans, programs *driver.Programs, ref domain.ProgramRef) error {
	c := collector{plans: plans, programs: programs, profile: ref.Profile,
		in: wire.Input{Versions: map[string]domain.Version{}, Plans: map[string]string{}}}
	_, err := c.add(ctx, ref.Hash)
	return err
}
