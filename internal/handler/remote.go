package handler

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/a2aclient"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Remote is an agent of another server, which kairosd calls with the Agent2Agent protocol.
type Remote struct {
	Client *a2aclient.Client
	// Deduplicates reports that the server answers a repeated message id with the same task. Then a message whose outcome
	// is unknown is sent again. Otherwise, its call is in doubt.
	Deduplicates bool
	// FailOnInput fails the step when the task requires input. Otherwise, the step waits until a person gives it there.
	FailOnInput bool
}

// Sub-steps of a call of a remote agent.
const (
	remoteSend = 1
	remoteTask = 2
)

const (
	// firstPoll and lastPoll are the pauses between two requests for a task.
	firstPoll, lastPoll = 200 * time.Millisecond, 5 * time.Second
	// unreachableFor is how long a step waits for a server that cannot be reached.
	unreachableFor = 10 * time.Minute
	// cancelWithin limits the cancellation of a task.
	cancelWithin = 5 * time.Second
	// showEvery is the longest time between two reports of progress, so that the run does not count as silent.
	showEvery = time.Minute
)

// effect is the side-effect class of sending a message.
func (r *Remote) effect() walk.Effect {
	if r.Deduplicates {
		return walk.EffectIdempotent
	}
	return walk.EffectUnsafe
}

// remoteCall is a step of a remote agent. Sub-step 1 sends the message and records the task, and sub-step 2 waits for its end.
// After a crash, the next attempt finds the task in the journal and sends nothing.
type remoteCall struct {
	*Remote
	agent string
	call  *engine.Call
}

func (r remoteCall) run(ctx context.Context) (engine.Result, error) {
	if r.call.RecordUse != nil {
		r.call.RecordUse(domain.UseAgent, r.agent)
	}
	encoded, err := jsonvalue.Encode(r.call.Input)
	if err != nil {
		return engine.Result{Agent: r.agent}, err
	}
	sum := sha256.Sum256(fmt.Appendf(encoded, "\n%s\n%s", r.Client.URL, r.Client.Skill))
	var started a2aclient.Task
	sent, err := r.call.Substep(remoteSend, "a2a:send", hex.EncodeToString(sum[:16]), r.effect(), func() (any, domain.Usage, error) {
		// The request is not interrupted, because the task could not be cancelled without its id.
		task, err := r.send(context.WithoutCancel(ctx))
		if err == nil && ctx.Err() != nil {
			err = r.stopped(ctx, task)
		}
		if err == nil {
			started = task
		}
		return encodeTask(task), domain.Usage{}, err
	})
	if err != nil {
		r.abandon(ctx, started)
		return engine.Result{Agent: r.agent}, err
	}
	task := decodeTask(sent)
	if !task.Ended() || task.ID != "" {
		started = task
		ended, err := r.call.Substep(remoteTask, "a2a:task", task.ID, walk.EffectRead, func() (any, domain.Usage, error) {
			started = a2aclient.Task{} // await cancels it
			task, err := r.await(ctx, task)
			return encodeTask(task), domain.Usage{}, err
		})
		if err != nil {
			r.abandon(ctx, started)
			return engine.Result{Agent: r.agent}, err
		}
		task = decodeTask(ended)
	}
	out, err := r.outcome(task)
	return engine.Result{Output: out, Agent: r.agent}, err
}

// send sends the message. Each failure of the step before counts in the id of the message, so that a resume starts another
// task. Earlier ids come first: their messages may have arrived although the response was lost.
func (r remoteCall) send(ctx context.Context) (task a2aclient.Task, err error) {
	first := 0
	if !r.Deduplicates {
		first = r.call.Failures
	}
	for n := first; n <= r.call.Failures; n++ {
		id := engine.SubstepKey(r.call.IdempotencyKey, remoteSend)
		if n > 0 {
			id = fmt.Sprintf("%s-r%d", id, n)
		}
		if task, err = r.Client.Send(ctx, id, r.call.Input); err != nil || !task.Ended() || task.State == "completed" {
			return task, err
		}
	}
	return task, nil
}

// await waits for the end of a task. It cancels the task if the run is cancelled, or the step times out.
func (r remoteCall) await(ctx context.Context, task a2aclient.Task) (a2aclient.Task, error) {
	var shown, reached time.Time
	state, pause := "", firstPoll
	for reached = time.Now(); ; {
		if task.State != state || time.Since(shown) > showEvery {
			state, shown = task.State, time.Now()
			r.show(task)
		}
		if task.Ended() || task.State == "auth_required" || task.State == "input_required" && r.FailOnInput {
			return task, nil
		}
		select {
		case <-ctx.Done():
			return task, r.stopped(ctx, task)
		case <-time.After(pause):
		}
		pause = min(pause*3/2, lastPoll)
		now, err := r.Client.Get(ctx, task.ID)
		switch f, _ := errors.AsType[*walk.Failure](err); {
		case err == nil:
			task, reached = now, time.Now()
		case ctx.Err() != nil:
			return task, r.stopped(ctx, task)
		case f != nil && f.Permanent:
			return task, err
		case time.Since(reached) > unreachableFor:
			// A timeout is not recorded as the response, so that the next attempt waits for the same task.
			return task, (&walk.Failure{Code: walk.CodeTimeout, Detail: err.Error()}).
				WithMessage("the server of agent %s could not be reached for %s", r.agent, unreachableFor)
		}
	}
}

// show reports the state of the task to people.
func (r remoteCall) show(task a2aclient.Task) {
	text := "task " + task.ID + ": " + task.State
	for _, more := range []string{task.Text, task.URL} {
		if more != "" && !task.Ended() {
			text += "\n" + more
		}
	}
	r.call.Log("info", text)
	r.call.Progress(0, 0, text)
}

// abandon cancels a task that has started if the attempt ended between two sub-steps. The engine then refuses to record
// the sub-step, and ends the context next.
func (r remoteCall) abandon(ctx context.Context, task a2aclient.Task) {
	if task.ID == "" {
		return
	}
	select {
	case <-ctx.Done():
		_ = r.stopped(ctx, task)
	case <-time.After(cancelWithin):
	}
}

// stopped returns why the wait ended. If the run was cancelled, or the step timed out, it cancels the task.
func (r remoteCall) stopped(ctx context.Context, task a2aclient.Task) error {
	cause := context.Cause(ctx)
	if task.ID == "" || task.Ended() {
		return cause
	}
	if errors.Is(cause, engine.ErrCancelled) || errors.Is(cause, engine.ErrTimeout) {
		ending, end := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
		defer end()
		if err := r.Client.Cancel(ending, task.ID); err != nil {
			r.call.Log("warn", "task "+task.ID+" could not be cancelled: "+err.Error())
		}
	}
	return cause
}

// outcome returns the output of an ended task, or its failure.
func (r remoteCall) outcome(task a2aclient.Task) (any, error) {
	f := &walk.Failure{Code: a2aclient.CodeTaskFailed, Detail: task.URL}
	text := cmp.Or(task.Text, "no reason given")
	switch task.State {
	case "completed":
		return task.Output, nil
	case "failed":
		return nil, f.WithMessage("agent %s failed: %s", r.agent, text)
	case "input_required", "auth_required":
		f.Code, f.Permanent = a2aclient.CodeInputRequired, true
		return nil, f.WithMessage("agent %s requires input: %s", r.agent, text)
	}
	f.Code, f.Permanent = a2aclient.CodeTaskCancelled, true
	return nil, f.WithMessage("the task of agent %s was %s: %s", r.agent, task.State, text)
}

// encodeTask returns a task as the journal stores it.
func encodeTask(t a2aclient.Task) any {
	return map[string]any{"task": t.ID, "state": t.State, "text": t.Text, "url": t.URL, "output": t.Output}
}

func decodeTask(v any) (t a2aclient.Task) {
	m, _ := v.(map[string]any)
	t.ID, _ = m["task"].(string)
	t.State, _ = m["state"].(string)
	t.Text, _ = m["text"].(string)
	t.URL, _ = m["url"].(string)
	t.Output = m["output"]
	return t
}

// provider returns the name of the agent's provider, or "" for an agent of another server.
func (a Agent) provider(m *Models) string {
	if a.Remote != nil {
		return ""
	}
	return cmp.Or(a.Provider, m.defaultProvider)
}

// address returns the address of the server of a remote agent, or "".
func (a Agent) address() string {
	if a.Remote == nil {
		return ""
	}
	return a.Remote.Client.URL
}

// any returns the agent of a node: the one that it names, or the default one.
func (m *Models) any(node *walk.ProgramNode) (Agent, error) {
	id := cmp.Or(node.Agent, node.Metadata["agent_id"])
	a, ok := m.Agent(id)
	if !ok {
		return a, (&walk.Failure{
			Code:       "unknown_agent",
			Permanent:  true,
			NoEffect:   true,
			Suggestion: "add it under agents in the configuration",
		}).WithMessage("agent %q is not configured", id)
	}
	return a, nil
}
