package planner_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// E16: the callback address can be used in arguments of tools, and nowhere else, because it is a secret.
func TestTheCallbackAddressIsForTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ plan, want string }{
		{`nodes: {a: {type: http, input: {url: "https://a.test", method: POST, body: {reply: "${run.callback}"}}}}`, ""},
		{`nodes: {a: {type: set, input: "at ${run.callback}"}}`, "callback.not_granted"},
		{`nodes: {a: {type: llm, input: {prompt: "${run.callback}"}}}`, "callback.not_granted"},
		{`nodes: {a: {type: approval, input: {message: "${run.callback}"}}}`, "callback.not_granted"},
		{`nodes: {a: {wait: {event: "${run.callback}"}}}`, "callback.not_granted"},
		{"nodes: {a: {type: set, input: 1}}\nresult: \"${run.callback}\"", "ref.malformed"},
		{`nodes: {a: {type: set, input: 1, foreach: "run.callback"}}`, "foreach.reference"},
		{`nodes: {a: {type: set, input: "${run.callbacks}"}}`, "run.callback"},
	} {
		_, problems := planner.Parse([]byte("id: p\n" + c.plan))
		var text strings.Builder
		for _, p := range problems {
			if p.Severity == planner.SeverityError {
				text.WriteString(p.Code + " " + p.Message.String() + "\n")
			}
		}
		if got := text.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: problems %q, want %q", c.plan, got, c.want)
		}
	}
}
