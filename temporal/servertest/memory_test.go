package servertest

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A step of an agent receives the memory of its session, which kairosd has. It waits while kairosd is down.
func TestAgentsRememberTheirSession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.more = "default_provider: script\nproviders: {script: {type: scripted, file: " +
		s.file("answers.yaml", "answers:\n  - {contains: capital, text: \"It is Lima.\"}\n"+
			"  - {contains: river, text: \"It is the Rimac.\"}\n") + "}}\n" +
		"agents: [{id: guide, system_prompt: You guide.}]\n"
	k := s.kairosd()
	s.worker(s.config())
	k.save(`
id: talk
nodes:
  pause: {type: wait, input: {for: 2s}}
  say: {type: agent, agent: guide, input: "${input.text}"}
edges: [{from: pause, to: say}]
start: pause
`)
	tell := func(text string) domain.Run {
		run, err := k.Start(t.Context(), domain.StartRequest{Plan: "talk", Session: "trip", Input: domain.RawJSON(`{"text": "` + text + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		k.until(run.ID, domain.RunWaiting, domain.WaitTimer)
		return run
	}
	first := tell("What is the capital?")
	k.until(first.ID, domain.RunCompleted, "")
	second := tell("And its river?")
	k.kill()
	k.up()
	k.until(second.ID, domain.RunCompleted, "")
	rows, err := k.Journal(t.Context(), second.ID)
	if err != nil {
		t.Fatal(err)
	}
	memory := ""
	for _, r := range rows {
		if r.Kind == domain.EntrySubstep && strings.Contains(string(r.Output), "What was said earlier") {
			memory = string(r.Output)
		}
	}
	if !strings.Contains(memory, "It is Lima.") {
		t.Errorf("the step remembers %q", memory)
	}
}
