package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// answers is a Temporal client whose server answers with errors, in order, and then accepts each request.
type answers struct {
	client.Client
	errs []error
	ids  []string
}

func (a *answers) next() (err error) {
	if len(a.errs) > 0 {
		err, a.errs = a.errs[0], a.errs[1:]
	}
	return err
}

func (a *answers) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	a.ids = append(a.ids, o.UpdateID)
	return accepted{}, a.next()
}

func (a *answers) SignalWorkflow(context.Context, string, string, string, any) error {
	a.ids = append(a.ids, "")
	return a.next()
}

type accepted struct{ client.WorkflowUpdateHandle }

func (accepted) Get(context.Context, any) error { return nil }

// A worker repeats a row that the server could not take, as the same request. A workflow that has ended fences the attempt, a full
// history stops it, and a refusal of the workflow counts.
func TestRowsAreSentAgain(t *testing.T) {
	t.Parallel()
	busy := serviceerror.NewResourceExhausted(0, "10 updates are in flight")
	intent := wire.Substep{Row: runstate.SubstepRecorded{Row: domain.Entry{Kind: domain.EntryIntent}}}
	result := wire.Substep{Row: runstate.SubstepRecorded{Row: domain.Entry{Kind: domain.EntrySubstep}}}
	refused := temporal.NewApplicationError("no", string(domain.CodeConflict))
	for _, tc := range []struct {
		name  string
		row   wire.Substep
		errs  []error
		want  error
		sends int
	}{
		{"accepted", intent, nil, nil, 1},
		{"busy", intent, []error{busy, serviceerror.NewUnavailable("down")}, nil, 3},
		{"a result", result, []error{busy}, nil, 2},
		{"ended", intent, []error{busy, serviceerror.NewNotFound("gone")}, engine.ErrFenced, 2},
		{"full", intent, []error{serviceerror.NewFailedPrecondition("2000 updates")}, engine.ErrStopping, 1},
		{"refused", intent, []error{refused}, refused, 1},
	} {
		a := &answers{errs: tc.errs}
		err := flow{a, "run", "", slog.New(slog.DiscardHandler)}.send(t.Context(), tc.row)
		if !errors.Is(err, tc.want) || len(a.ids) != tc.sends {
			t.Errorf("%s: %v after %d requests", tc.name, err, len(a.ids))
		}
		for _, id := range a.ids {
			if id != a.ids[0] {
				t.Errorf("%s: a repeated request is another one", tc.name)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrCancelled)
	err := flow{&answers{errs: []error{busy}}, "run", "", slog.New(slog.DiscardHandler)}.send(ctx, intent)
	if !errors.Is(err, engine.ErrCancelled) {
		t.Errorf("a cancelled step: %v", err)
	}
}
