package launch

import (
	"context"
	"maps"
	"slices"
	"time"

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
	// Callback returns the callback address of a run.
	Callback func(run string) string
}

// Stored returns the input of a workflow that executes a run of kairosd's record from its last row on.
func Stored(ctx context.Context, plans Plans, programs *driver.Programs, run domain.Run, rows []domain.Entry, s Settings) (wire.Input,
	error) {
	c := collector{plans: plans, programs: programs, profile: run.Profile, in: wire.Input{Driver: driver.Version, Run: run, Journal: rows,
		Versions: map[string]domain.Version{}, Plans: map[string]string{}, Options: s.Options,
		Key: s.Key, LostAfter: s.LostAfter, Report: true, Control: s.Control, Signer: s.Signer, Known: true}}
	v, err := plans.VersionByHash(ctx, run.Hash)
	if err != nil {
		return wire.Input{}, err
	}
	p, err := programs.Get(v, run.Profile)
	if err != nil {
		return wire.Input{}, err
	}
	input, err := runstate.Decode(run.Input)
	if err != nil {
		return wire.Input{}, domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	state, err := runstate.Fold(p.Program, runstate.Facts{Run: run.ID, Slot: run.Slot.String(), Input: input}, rows)
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
	_, err = c.add(ctx, run.Hash)
	c.in.Shrink()
	return c.in, err
}

// Check returns an error if a plan, or one that it starts, uses something that runs on Temporal do not have.
func Check(ctx context.Context, plans Plans, programs *driver.Programs, ref domain.ProgramRef) error {
	c := collector{plans: plans, programs: programs, profile: ref.Profile,
		in: wire.Input{Versions: map[string]domain.Version{}, Plans: map[string]string{}}}
	if _, err := c.add(ctx, ref.Hash); err != nil {
		return err
	}
	return unsupported(c.all, true)
}
