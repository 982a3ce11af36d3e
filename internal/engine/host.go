package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// knownFor is the time for which an attempt relies on the last answer about budgets. Then its next model call requests another
// one, so that a long attempt notices a new budget.
const knownFor = time.Minute

// attemptHost receives the messages of an attempt in place of a runner. It leaves the
// decision about a model call to the driver of the run, if the run has a limit of tokens or cost, or a shared budget may cover it.
type attemptHost struct {
	task     *Task
	t        *attempt
	recorder Recorder

	mu    sync.Mutex
	calls map[int]hostCall // model calls in flight, by sub-step
	// limits, spent, and budgets are those of the last answer of the driver of the run.
	limits  domain.Limits
	spent   domain.Usage
	budgets budget.Scopes
	learned time.Time
}

// hostCall is a model call in flight. asked is set if the driver of the run has a reservation for it.
type hostCall struct {
	need   runledger.Need
	output int64
	asked  bool
}

func newAttemptHost(task *Task, t *attempt, r Recorder) *attemptHost {
	return &attemptHost{task: task, t: t, recorder: r, calls: map[int]hostCall{}, limits: task.Limits, spent: task.Spent.Usage,
		budgets: task.Budgets, learned: time.Now()}
}

// handle handles a message. It returns the end of the attempt, or nil.
func (a *attemptHost) handle(ctx context.Context, m message) runstate.Event {
	switch m := m.(type) {
	case substepMsg:
		if m.entry.Kind == domain.EntrySubstep {
			a.over(m.entry.Substep, m.unreported, &m.entry)
		}
		err := a.recorder.Record(context.WithoutCancel(ctx), &runstate.SubstepRecorded{Attempt: &a.t.Attempt, Row: m.entry,
			Uses: a.t.takeUses(), Messages: m.mail.messages, Handoff: m.mail.handoff}, m.unreported)
		if errors.Is(err, ErrStopping) {
			a.t.cancel(ErrStopping)
		}
		m.answer(err)
	case reserveMsg:
		a.reserve(m)
	case lostMsg:
		if a.over(m.n, false, &domain.Entry{}).asked {
			if err := a.recorder.Lose(context.WithoutCancel(ctx), m.n, m.spent); err != nil {
				a.t.handlers.log.Warn("a call that ended without a row counts until its attempt ends", "run_id", a.t.run, "err", err)
			}
		}
	case doneMsg:
		ev := m.event(a.t.handlers.current())
		return &ev
	case abandonMsg:
		return &runstate.AttemptAbandoned{AttemptEnding: a.t.ending(context.Cause(a.t.ctx))}
	}
	return nil
}

// over removes a call in flight, and completes its row.
func (a *attemptHost) over(n int, unreported bool, row *domain.Entry) hostCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.calls[n]
	delete(a.calls, n)
	row.Provider = c.need.Provider
	used := row.Usage
	if unreported && c.asked {
		used = domain.Usage{InputTokens: c.need.Input, OutputTokens: c.output}
	}
	a.spent = a.spent.Add(used)
	return c
}

// reserve permits a call, or asks the driver of the run whether it may start.
func (a *attemptHost) reserve(m reserveMsg) {
	a.mu.Lock()
	defer a.mu.Unlock()
	spent := a.task.Spent
	spent.Usage = a.spent
	spent.Time += a.t.handlers.now().Sub(a.task.StartedAt)
	need := m.need.of()
	switch {
	case need.Model() && a.asks(need):
		go func() { m.reply.give(a.ask(m, need)) }()
		return
	case runledger.Exceeded(a.limits, spent) != nil:
		m.answer(refusal(runledger.Exceeded(a.limits, spent)))
		return
	case need.Model():
		a.calls[m.n] = hostCall{need: need}
	}
	m.reply.give(granted{}, nil)
}

// asks reports whether the driver of the run decides about a model call. The caller holds mu.
func (a *attemptHost) asks(need runledger.Need) bool {
	return a.limits.MaxTokens > 0 || a.limits.MaxCost > 0 || a.budgets.Cover(need.Agent, need.Provider) ||
		a.budgets.Digest != "" && time.Since(a.learned) > knownFor
}

// ask asks the driver of the run until it permits or refuses a call. A budget may send the call to a cheaper model.
func (a *attemptHost) ask(m reserveMsg, need runledger.Need) (g granted, err error) {
	q := runledger.Ask{Substep: m.n, Need: need, MayDegrade: m.need.Cheaper != nil}
	for {
		a.mu.Lock()
		q.Budgets = a.budgets.Digest
		a.mu.Unlock()
		answer, err := a.recorder.Reserve(a.t.ctx, q)
		if errors.Is(err, ErrStopping) {
			a.t.cancel(ErrStopping)
		}
		if err != nil {
			return g, err
		}
		a.learn(answer)
		switch {
		case answer.Refused != nil:
			return g, refusal(answer.Refused)
		case answer.Degrade != nil:
			q.MayDegrade = false
			if cheaper, ok := m.need.Cheaper(answer.Degrade.To); ok {
				q.Note, q.Need, g.degrade = answer.Degrade.Note(q.Provider), cheaper.of(), cheaper.Degrade
			}
			continue
		}
		g.output = answer.Output
		a.mu.Lock()
		defer a.mu.Unlock()
		if answer.Output > 0 {
			q.Output = min(q.Output, answer.Output)
		}
		a.calls[m.n] = hostCall{q.Need, q.Output, true}
		return g, nil
	}
}

// learn takes over what an answer states about the run.
func (a *attemptHost) learn(answer runledger.Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits, a.spent, a.learned = answer.Limits, answer.Spent.Usage, time.Now()
	if answer.Budgets != nil {
		a.budgets = *answer.Budgets
	}
}
