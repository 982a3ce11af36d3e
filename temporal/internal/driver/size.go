package driver

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Temporal does not store large values. A step or a child run with such an input fails, because its run could not continue.

// fits reports whether the server stores a value. The answer is in the history, because the size of a compressed value may
// differ in another build.
func (r *runner) fits(v any) (fits bool) {
	if r.flows.Converter == nil {
		return true
	}
	err := workflow.SideEffect(r.ctx, func(workflow.Context) any { return wire.Fits(r.flows.Converter, v) }).Get(&fits)
	return err != nil || fits
}

// fitsAttempt reports whether the server stores an attempt.
func (r *runner) fitsAttempt(a *wire.Attempt) bool {
	sizes := []int{len(a.Version.Source), len(a.Input), len(a.Plain), len(a.Last), len(a.Request)}
	for i := range a.Previous {
		sizes = append(sizes, len(a.Previous[i].Output))
	}
	for i := range a.Substeps {
		sizes = append(sizes, len(a.Substeps[i].Input), len(a.Substeps[i].Output))
	}
	return wire.Small(sizes...) || r.fits(a)
}

// fitsRun reports whether the server stores the input of a child run.
func (r *runner) fitsRun(in *wire.Input) bool {
	sizes := []int{len(in.Run.Input)}
	for _, v := range in.Versions {
		sizes = append(sizes, len(v.Source))
	}
	return wire.Small(sizes...) || r.fits(in)
}

// storable returns the failure of an output that the server does not store, or nil.
func (r *runner) storable(node string, raw domain.RawJSON) *domain.Failure {
	if wire.Small(len(raw)) || r.fits(raw) {
		return nil
	}
	return LargeOutput(node)
}

// LargeOutput returns the failure of an output that Temporal does not store.
func LargeOutput(node string) *domain.Failure {
	return (&domain.Failure{Code: walk.CodeOutputTooLarge, Node: node, Permanent: true,
		Suggestion: "write large data to a file and output its path"}).
		WithMessage("output of node %q has more than 2 MB after compression, which Temporal does not store", node)
}

// errLarge is the error of an input that Temporal does not store.
var errLarge = errors.New("it has more than 2 MB after compression, which Temporal does not store")

// largeInput returns the failure of a step whose input Temporal does not store.
func largeInput(node string) *walk.Failure {
	f := (&walk.Failure{Code: walk.CodeInvalidInput, Node: node, Permanent: true, NoEffect: true}).
		WithMessage("the input of node %q cannot be passed: %s", node, errLarge)
	f.Suggestion = "write large data to a file and pass its path"
	return f
}
