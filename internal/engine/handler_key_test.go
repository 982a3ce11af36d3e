package engine_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A step that a resume forgets, because it ran after a failure, runs again for another failure. Its calls have
// another idempotency key, so that a server which remembers keys acts again. A step that a resume reopens keeps
// its key.
func TestAHandlerThatRunsAgainHasItsOwnKey(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]string{
		"a step": `{nodes: {a: {type: break}, h: {type: clean, needs: [a], when: always, input: x}}}`,
		"a list": `{nodes: {a: {type: break}, h: {type: clean, needs: [a], when: always, foreach: [x], input: x}}}`,
		"an edge": `{on_failure: continue_branches, edges: [{from: b, to: h}], nodes: {a: {type: break}, b: {type: noop, needs: [a],
			when: always}, h: {type: clean, input: x}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c cleaner
			reg := c.registry()
			e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{})
			run := e.Run(plan, "")
			e.Until(run.ID, domain.RunFailed, "")
			for _, want := range []string{"x, x", "x, x, x"} {
				if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
					t.Fatal(err)
				}
				ended := func(r domain.Run) bool { return r.Status.Final() && c.messageText() == want }
				if _, err := e.WaitFor(t.Context(), run.ID, ended); err != nil {
					t.Fatal(err)
				}
			}
			keys := map[string]map[string]bool{"a": {}, "h": {}}
			for _, call := range reg.Calls() {
				if keys[call.Node] != nil {
					keys[call.Node][call.Key] = true
				}
			}
			if len(keys["a"]) != 1 || len(keys["h"]) != 3 {
				t.Errorf("the step had %d keys, and its handler %d; want 1 and 3", len(keys["a"]), len(keys["h"]))
			}
		})
	}
}

// A finally step to which a rule leads runs at each end of the run.
func TestAFinallyStepOfARuleRunsAgain(t *testing.T) {
	t.Parallel()
	var c cleaner
	e := enginetest.OpenOn(t, storetest.Open(t), c.registry(), engine.Options{})
	run := e.Run(`{nodes: {a: {type: break}}, finally: {f: {type: break, on_error: [{to: g}]}, g: {type: clean, input: x}}}`, "")
	e.Until(run.ID, domain.RunFailed, "")
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	ended := func(r domain.Run) bool { return r.Status.Final() && c.messageText() == "x, x" }
	if _, err := e.WaitFor(t.Context(), run.ID, ended); err != nil {
		t.Fatal(err)
	}
}
