// Package launch builds the input of the workflow of a new run.
package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Plans finds versions of plans.
type Plans interface {
	// Resolve finds the version that `key` or `key@version` currently names.
	Resolve(ctx context.Context, name string) (hash string, err error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
}

// Request describes a new run.
type Request struct {
	Hash    string // of the version to run
	Profile string // that the version declares; empty: none
	Input   domain.RawJSON
	Actor   string
	Origin  string
	Session string
	Labels  map[string]string
	Limits  domain.Limits
	Dry     bool
	Now     time.Time
	Options runstate.Options
	Key     []byte // derives idempotency keys
	// LostAfter is the time after which a worker that does not respond counts as lost. Zero means the default.
	LostAfter time.Duration
	Report    bool
}

// Input returns the input of the workflow of a new run. It contains the versions of all sub-plans, so that the run
// needs no other program to find them.
func Input(ctx context.Context, plans Plans, programs *driver.Programs, q Request) (wire.Input, error) {
	c := collector{plans: plans, programs: programs, profile: q.Profile, in: wire.Input{Driver: driver.Version,
		Versions: map[string]domain.Version{}, Plans: map[string]string{},
		Options: q.Options, Key: q.Key, LostAfter: q.LostAfter, Report: q.Report}}
	p, err := c.add(ctx, q.Hash)
	if err != nil {
		return wire.Input{}, err
	}
	if p.Profile != q.Profile {
		return wire.Input{}, domain.ProfileError(q.Profile, p.Start.Profiles)
	}
	if len(q.Input) == 0 {
		q.Input = nil
	}
	input, err := engine.ValidInput(ctx, p, q.Input)
	if err != nil {
		return wire.Input{}, err
	}
	value, err := runstate.Decode(input)
	if err != nil {
		return wire.Input{}, domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	labels, err := engine.LabelsOf(p, value, q.Labels)
	if err != nil {
		return wire.Input{}, err
	}
	if !q.Report {
		if err := needsNoKairosd(c.all); err != nil {
			return wire.Input{}, err
		}
	}
	origin := q.Origin
	if q.Dry {
		origin = domain.OriginDry
	}
	v := p.Version
	c.in.Run = domain.Run{ID: domain.NewID(), PlanID: v.PlanID, PlanKey: v.PlanKey, Version: v.Number,
		ProgramRef: domain.ProgramRef{Hash: v.Hash, Profile: q.Profile}, Status: domain.RunQueued, Input: input,
		Actor: q.Actor, Origin: origin, Session: q.Session, Priority: p.Priority, Labels: labels,
		Limits: runstate.InitialLimits(q.Limits, p.Limits), CreatedAt: q.Now.UTC().Truncate(time.Microsecond)}
	if pins := driver.Pins(p, c.in.Plans); len(pins) > 0 {
		c.in.Journal = []domain.Entry{runstate.PlansRow(pins, c.in.Run.CreatedAt)}
		c.in.Run.LastSeq = 1
	}
	return c.in, nil
}

// collector collects the versions that a run and its descendants may need.
type collector struct {
	plans    Plans
	programs *driver.Programs
	profile  string
	in       wire.Input
	all      []*runstate.Compiled
}

func (c *collector) add(ctx context.Context, hash string) (*runstate.Compiled, error) {
	v, err := c.plans.VersionByHash(ctx, hash)
	if err != nil {
		return nil, err
	}
	v.Canonical = nil // the source suffices
	p, err := c.programs.Get(v, c.profile)
	if err != nil {
		return nil, err
	}
	c.in.Versions[hash] = v
	c.all = append(c.all, p)
	return p, c.addPlans(ctx, p.Program)
}

// addPlans adds the plans that a program and its blocks name.
func (c *collector) addPlans(ctx context.Context, p *walk.Program) error {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Block != nil {
			if err := c.addPlans(ctx, n.Block.Program); err != nil {
				return err
			}
			continue
		}
		if n.Type != walk.TypePlan {
			continue
		}
		for _, name := range n.PlanNames() {
			if c.in.Plans[name] != "" {
				continue
			}
			hash, err := c.plans.Resolve(ctx, name)
			if err != nil {
				return domain.Errorf(domain.CodeInvalid, "%w", fmt.Errorf("node %q runs plan %q: %w", n.ID, name, err))
			}
			c.in.Plans[name] = hash
			if c.in.Versions[hash].Hash == "" {
				if _, err := c.add(ctx, hash); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// needsNoKairosd returns an error if a plan uses something for which its runs need kairosd.
func needsNoKairosd(plans []*runstate.Compiled) error {
	for _, p := range plans {
		switch {
		case p.Replans:
			return needsKairosd(p, "replanning")
		case p.Start.Concurrency != nil:
			return needsKairosd(p, "a concurrency rule")
		case p.Callback:
			return needsKairosd(p, "${run.callback}")
		}
		var event string
		walk.EachNode(p.Program, func(_ string, n *walk.ProgramNode) {
			if n.Type == walk.TypeWait && n.WaitsForEvent() {
				event = n.ID
			}
		})
		if event != "" {
			return needsKairosd(p, fmt.Sprintf("a signal (step %s)", event))
		}
	}
	return nil
}

func needsKairosd(p *runstate.Compiled, what string) error {
	return domain.Errorf(domain.CodeInvalid, "plan %s uses %s, which requires kairosd", p.Version.PlanKey, what).
		Suggest("start the run through kairos-temporal serve")
}
