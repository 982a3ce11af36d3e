package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// rowList records the rows of sub-steps, and keeps the limits of its run.
type rowList struct {
	rows   []domain.Entry
	limits domain.Limits
	asked  []runledger.Ask
	lost   []int
	// full means that the history of the run has no place for questions.
	full bool
}

func (l *rowList) Record(_ context.Context, r *runstate.SubstepRecorded, _ bool) error {
	l.rows = append(l.rows, r.Row)
	return nil
}

func (l *rowList) Reserve(_ context.Context, q runledger.Ask) (a runledger.Answer, err error) {
	if l.asked = append(l.asked, q); l.full {
		return a, engine.ErrStopping
	}
	a.Limits = l.limits
	for _, row := range l.rows {
		a.Spent.Usage = a.Spent.Usage.Add(row.Usage)
	}
	a.Output, _, a.Refused = new(runledger.Ledger).Reserve(nil, q.Substep, q.Need, l.limits, a.Spent)
	return a, nil
}

func (l *rowList) Lose(_ context.Context, substep int, _ bool) error {
	l.lost = append(l.lost, substep)
	return nil
}

func executorOf(t *testing.T, h engine.HandlerFunc) *engine.Executor {
	t.Helper()
	r := enginetest.NewRegistry().Handle("x", walk.EffectUnsafe, h)
	x, err := engine.NewExecutor(engine.ExecutorConfig{Setup: engine.Setup{Registry: r}, StopGrace: time.Millisecond,
		CancelGrace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func taskOfX(limits domain.Limits) engine.Task {
	node := &walk.ProgramNode{ID: "a", Type: "x", TypeName: "x"}
	t := engine.Task{Limits: limits}
	t.Attempt = runstate.Attempt{StepKey: runstate.StepKey{Item: -1}, Spec: node, Number: 1, Effect: walk.EffectUnsafe,
		IdempotencyKey: "key", StartedAt: time.Now()}
	t.Call = engine.Call{RunID: "run", Node: node, Item: -1, Attempt: 1}
	return t
}

// An executor makes the rows of sub-steps durable before their handler continues, and keeps the limits of the run.
func TestAnExecutorRecordsSubsteps(t *testing.T) {
	t.Parallel()
	limits := domain.Limits{MaxTokens: 25}
	list := rowList{limits: limits}
	x := executorOf(t, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		c.Expect(1, engine.ExpectedUsage{Input: 10, Output: 10})
		model := func() (any, domain.Usage, error) { return "text", domain.Usage{InputTokens: 10, OutputTokens: 5}, nil }
		if _, err := c.Substep(1, "model", "", walk.EffectIdempotent, model); err != nil || len(list.rows) != 1 {
			return engine.Result{}, errors.New("the row of the model call is not durable")
		}
		if _, err := c.Substep(2, "tool:pay", "", walk.EffectUnsafe, func() (any, domain.Usage, error) {
			if len(list.rows) != 2 || list.rows[1].Kind != domain.EntryIntent ||
				list.rows[1].IdempotencyKey != engine.SubstepKey("key", 2) {
				return nil, domain.Usage{}, errors.New("the intent of the call is not durable")
			}
			return "paid", domain.Usage{}, nil
		}); err != nil {
			return engine.Result{}, err
		}
		c.Expect(3, engine.ExpectedUsage{Input: 10, Output: 10})
		_, err := c.Substep(3, "model", "", walk.EffectIdempotent, model)
		return engine.Result{}, err
	})
	end := x.Execute(t.Context(), taskOfX(limits), &list, nil)
	done, ok := end.(*runstate.AttemptDone)
	if !ok || done.Failure == nil || done.Cause != runstate.StopBudget || done.Limit.IsZero() || len(list.rows) != 3 {
		t.Errorf("%T %+v, %d rows", end, done, len(list.rows))
	}
}

// An executor asks for a model call only if the run has a limit of tokens or cost, or a shared budget can cover the call. A call
// that ends without a row is reported. If the history of the run is full, the attempt stops, and continues in another one.
func TestAnExecutorAsksForModelCalls(t *testing.T) {
	t.Parallel()
	x := executorOf(t, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		for n, provider := range []string{"dear", "free"} {
			c.Expect(n+1, engine.ExpectedUsage{Input: 10, Output: 10, Provider: provider})
			if _, err := c.Substep(n+1, "model", "", walk.EffectIdempotent, func() (any, domain.Usage, error) {
				return nil, domain.Usage{}, &walk.Failure{Code: walk.CodeTimeout, Message: "no answer"}
			}); errors.Is(err, engine.ErrStopping) {
				return engine.Result{}, err
			}
		}
		return engine.Result{Output: "done"}, nil
	})
	for _, tt := range []struct {
		name   string
		limits domain.Limits
		scopes []string
		full   bool
		asked  int
		cause  runstate.StopCause
	}{
		{"nothing", domain.Limits{MaxSteps: 5, MaxDuration: time.Hour}, nil, false, 0, runstate.StopNone},
		{"max_tokens", domain.Limits{MaxTokens: 100}, nil, false, 2, runstate.StopNone},
		{"a budget of one of the calls", domain.Limits{}, []string{"provider:dear", "agent:other"}, false, 1, runstate.StopNone},
		{"a budget of all calls", domain.Limits{}, []string{"all"}, false, 2, runstate.StopNone},
		{"a full history", domain.Limits{MaxTokens: 100}, nil, true, 1, runstate.StopShutdown},
	} {
		task := taskOfX(tt.limits)
		task.Budgets = budget.Scopes{Digest: "d", List: tt.scopes}
		list := rowList{limits: tt.limits, full: tt.full}
		end, ok := x.Execute(t.Context(), task, &list, nil).(*runstate.AttemptDone)
		if lost := len(list.lost); !ok || len(list.asked) != tt.asked || !tt.full && lost != tt.asked || end.Cause != tt.cause {
			t.Errorf("%s: %d questions, %d lost calls, %+v", tt.name, len(list.asked), lost, end)
		}
	}
}

// A cancel and a stop end the context of the handler. A handler that does not return is abandoned.
func TestAnExecutorEndsAttempts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		stop      bool
		returns   bool
		cause     error
		stopCause runstate.StopCause
	}{
		{"a cancel", false, true, engine.ErrCancelled, runstate.StopCancelled},
		{"a stop", true, true, engine.ErrStopping, runstate.StopShutdown},
		{"a cancel that the handler ignores", false, false, engine.ErrCancelled, runstate.StopCancelled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		stopping, release := make(chan struct{}), make(chan struct{})
		x := executorOf(t, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
			if tt.stop {
				close(stopping)
			} else {
				cancel()
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), tt.cause) {
				t.Errorf("%s: the context ends with %v", tt.name, context.Cause(ctx))
			}
			if !tt.returns {
				<-release
			}
			return engine.Result{}, context.Cause(ctx)
		})
		switch end := x.Execute(ctx, taskOfX(domain.Limits{}), &rowList{}, stopping).(type) {
		case *runstate.AttemptDone:
			if !tt.returns || end.Cause != tt.stopCause || end.Failure == nil {
				t.Errorf("%s: done %+v", tt.name, end)
			}
		case *runstate.AttemptAbandoned:
			if tt.returns || end.Cause != tt.stopCause {
				t.Errorf("%s: abandoned %+v", tt.name, end)
			}
		default:
			t.Errorf("%s: %T", tt.name, end)
		}
		close(release)
		cancel()
	}
}

// An attempt of an unknown type fails without an effect.
func TestAnExecutorWithoutAHandler(t *testing.T) {
	t.Parallel()
	x := executorOf(t, nil)
	task := taskOfX(domain.Limits{})
	task.Spec.TypeName = "other"
	done, ok := x.Execute(t.Context(), task, &rowList{}, nil).(*runstate.AttemptDone)
	if !ok || done.Failure == nil || done.Failure.Code != walk.CodeUnknownType || !done.Failure.NoEffect {
		t.Errorf("%+v", done)
	}
}
