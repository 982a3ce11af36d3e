package runstate

import (
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// signalInput is the input of a `wait` node that waits for a signal.
type signalInput struct {
	name, key string
	timeout   time.Duration // 0: none
	proceeds  bool          // the timeout completes the step
}

func waitsForSignal(input any) bool {
	m, ok := input.(map[string]any)
	return ok && m["event"] != nil
}

// readSignal reads the input of a wait in a run. A wait for a callback without a key waits for that of its
// own run.
func readSignal(run string, input any) (in signalInput, err error) {
	m, ok := input.(map[string]any)
	if !ok || m["event"] == nil {
		return in, fmt.Errorf("a wait for a signal accepts {event, key?, timeout?, on_timeout?}")
	}
	if m["for"] != nil || m["until"] != nil {
		return in, fmt.Errorf("a wait requires exactly one of for, until, and event")
	}
	in.name = jsonvalue.Text(m["event"])
	if m["key"] != nil {
		in.key = jsonvalue.Text(m["key"])
	} else if in.name == domain.CallbackEvent {
		in.key = run
	}
	if err := domain.CheckSignalName(in.name, in.key); err != nil {
		return in, err
	}
	if m["timeout"] != nil {
		text := jsonvalue.Text(m["timeout"])
		if in.timeout, err = walk.ParseDuration(text); err != nil || in.timeout <= 0 {
			return in, fmt.Errorf("timeout %q is not a positive duration", text)
		}
	}
	switch on := m["on_timeout"]; on {
	case nil, "fail":
	case "continue":
		in.proceeds = true
	default:
		return in, fmt.Errorf("unknown on_timeout %q: use fail or continue", jsonvalue.Text(on))
	}
	return in, nil
}

// awaitSignal makes a step wait for a signal. A signal that came early ends the wait at once.
func awaitSignal(m *Machine, w *Step, node *walk.ProgramNode, input any) {
	in, err := readSignal(walk.RunOf(m.State.Walk), input)
	if err != nil {
		f := &walk.Failure{Code: walk.CodeInvalidInput, Node: node.ID,
			Suggestion: "write wait: {event: NAME, timeout: 2d}"}
		m.refuse(w, f.WithMessage("node %q: %s", node.ID, err))
		return
	}
	ref := requestID(m, "event", w)
	addWait(m, w, domain.WaitSignal, input, func(e *domain.Entry) {
		e.Ref = ref
		if in.timeout > 0 {
			e.DueAt = m.env.Now.Add(in.timeout.Truncate(time.Microsecond))
		}
	})
	m.next.Waits = append(m.next.Waits, domain.SignalWait{ID: ref, Name: in.name, Key: in.key, Node: node.ID, Visit: w.Visit, Item: w.Item,
		Since: w.Since, Due: w.Due})
	m.doAfter(FindSignal{in.name, in.key})
}

// signalOf returns the signal that a step waits for.
func signalOf(run string, w *Step) (name, key string) {
	input, err := Decode(w.Input)
	if err != nil {
		return "", ""
	}
	in, _ := readSignal(run, input) // the wait row was written only for a valid input
	return in.name, in.key
}

// endSignalWait ends the wait of a step in the current checkpoint. signal is the signal that ends it, or "".
func endSignalWait(m *Machine, w *Step, signal string) {
	m.next.Waits = append(m.next.Waits, domain.SignalWait{ID: w.Ref, Node: m.Program.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item,
		Ended: true, Signal: signal})
}

// handle ends the wait with the signal, in the checkpoint that also consumes the signal. A wait that has
// ended meanwhile does not consume it.
func (ev *SignalArrived) handle(m *Machine) error {
	w := m.State.WaitingFor(ev.Wait)
	if w == nil || w.Reason != domain.WaitSignal {
		return domain.Errorf(domain.CodeConflict, "the step no longer waits for a signal")
	}
	m.separate()
	m.dueDirty = true
	endSignalWait(m, w, ev.Signal.ID)
	out, err := signalOutput(&ev.Signal)
	if err != nil {
		f := (&domain.Failure{Code: walk.CodeOutput, Permanent: true}).WithMessage("the data of signal %s: %s", ev.Signal.Name, err)
		m.final(w, domain.NodeFailed, nil, f, nil)
		return nil
	}
	m.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) { e.Ref, e.Actor = ev.Signal.ID, ev.Signal.Actor })
	return nil
}

// signalOutput is the output of a step that waited for a signal.
func signalOutput(s *domain.Signal) (any, error) {
	data, err := Decode(s.Data)
	if err != nil {
		return nil, err
	}
	return map[string]any{"event": s.Name, "key": s.Key, "data": data, "source": s.Source, "id": s.ID, "timedOut": false,
		"receivedAt": s.CreatedAt.UTC().Format(time.RFC3339Nano)}, nil
}

// expireSignal applies on_timeout.
func expireSignal(m *Machine, w *Step) {
	m.separate()
	endSignalWait(m, w, "")
	var in signalInput
	if input, err := Decode(w.Input); err == nil {
		in, _ = readSignal(walk.RunOf(m.State.Walk), input)
	}
	if in.proceeds {
		m.final(w, domain.NodeCompleted, map[string]any{"event": in.name, "key": in.key, "data": nil, "timedOut": true}, nil, nil)
		return
	}
	f := &domain.Failure{Code: walk.CodeTimeout, Permanent: true, NoEffect: true}
	m.final(w, domain.NodeFailed, nil, f.WithMessage("the signal %s did not arrive in time", strings.TrimSpace(in.name+" "+in.key)), nil)
}
