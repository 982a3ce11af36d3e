package hook_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

const waiting = `{id: render, nodes: {done: {wait: {event: callback}}, out: {type: set, needs: [done], input: "${output.done.data}"}}}`

// callback returns the path of the callback address of a run.
func callback(run string) string { return "/callbacks/" + domain.CallbackToken([]byte("key"), run) }

const (
	unknown = `404 {"status":"refused","reason":"callback.unknown","message":"the address is unknown, was used, or has expired"}`
	stored  = `202 {"status":"accepted"}`
)

// A callback ends the wait of its run, also if it comes before the wait begins. The step outputs its body.
func TestACallbackEndsTheWaitOfItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.Save(waiting)
	one, two := w.Begin(v, "null"), w.Begin(v, "null")
	w.Until(one.ID, domain.RunWaiting, domain.WaitSignal)
	if got := w.send(callback(one.ID), `{"file": "a.mp4"}`); got != stored {
		t.Errorf("%s, want %s", got, stored)
	}
	if run := w.Settle(one.ID); run.Status != domain.RunCompleted || string(run.Output) != `{"file":"a.mp4"}` {
		t.Errorf("%s %s", run.Status, run.Output)
	}
	if run := w.Until(two.ID, domain.RunWaiting, domain.WaitSignal); run.Status != domain.RunWaiting {
		t.Errorf("the other run is %s", run.Status)
	}
	early := w.Begin(w.Save(`{id: early, nodes: {first: {wait: {event: go}}, done: {wait: {event: callback}, needs: [first]}}}`), "null")
	w.Until(early.ID, domain.RunWaiting, domain.WaitSignal)
	if got := w.send(callback(early.ID), "a=1", "Content-Type: application/x-www-form-urlencoded"); got != stored {
		t.Errorf("early: %s, want %s", got, stored)
	}
	w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Signal: "'go'"})
	w.bearer("evt", "{}")
	if run := w.Settle(early.ID); run.Status != domain.RunCompleted || !strings.Contains(string(run.Output), `{"a":"1"}`) {
		t.Errorf("%s %s", run.Status, run.Output)
	}
}

// E14, E15: an address that is unknown, was used, or whose run has ended gets one response, whatever the
// request is. A refused request leaves the address usable, and of many at once, one is accepted.
func TestCallbacksThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.Save(waiting)
	run, ended := w.Begin(v, "null"), w.Run(`{id: short, nodes: {a: {type: set, input: 1}}}`, "null")
	w.Until(run.ID, domain.RunWaiting, domain.WaitSignal)
	for _, c := range []struct{ body, header, want string }{
		{strings.Repeat("x", domain.MaxHookBody+1), "Content-Type: text/plain", "413 "},
		{strings.Repeat("x", domain.MaxSignalData), "Content-Type: text/plain", "413 "},
		{"{", "Content-Type: application/json", "422 "},
		{"\xff", "Content-Type: text/plain", "422 "},
	} {
		if got := w.send(callback(run.ID), c.body, c.header); !strings.HasPrefix(got, c.want) {
			t.Errorf("%.20q: %.200s, want %s", c.body, got, c.want)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	counts := map[string]int{}
	for range 20 {
		all.Go(func() {
			got := w.send(callback(run.ID), "{}")
			mu.Lock()
			defer mu.Unlock()
			counts[got]++
		})
	}
	all.Wait()
	if counts[stored] != 1 || counts[unknown] != 19 {
		t.Errorf("responses %v", counts)
	}
	w.Settle(run.ID)
	token := callback(domain.NewID())
	for _, path := range []string{callback(run.ID), callback(ended.ID), token, "/callbacks/", "/callbacks/x", "/callbacks/" + run.ID,
		"/callbacks/" + run.ID + "-", callback(run.ID) + "/x", strings.Replace(callback(run.ID), run.ID, ended.ID, 1)} {
		if got := w.send(path, "{}"); got != unknown {
			t.Errorf("%s: %s, want %s", path, got, unknown)
		}
	}
	if got := w.send("/callbacks/x", strings.Repeat("x", domain.MaxHookBody+1)); got != unknown {
		t.Errorf("a large body to an unknown address: %s", got)
	}
	limited := ""
	for range domain.HookSenderBurst + 1 {
		limited = w.send("/callbacks/x", "{}")
	}
	if !strings.HasPrefix(limited, fmt.Sprint(429)) {
		t.Errorf("after a flood: %s", limited)
	}
}
