package client_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
)

// get sends a request with a token.
func (d *daemon) get(t *testing.T, token, path, accept string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL+api.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", accept)
	resp, err := d.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d", path, resp.StatusCode)
	}
	return resp
}

// over reports whether an event is the last one of a run.
func over(text string) bool { return strings.Contains(text, `"type":"plan_completed"`) }

// overSSE reads a run's stored events as server-sent events.
func overSSE(t *testing.T, body io.Reader, run string) (list []string) {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && about(text, run) {
			if list = append(list, text); over(text) {
				return list
			}
		}
	}
	t.Fatalf("the stream ends: %v", lines.Err())
	return nil
}

func about(text, run string) bool {
	return strings.Contains(text, `"runId":"`+run+`"`) && !strings.Contains(text, `"ephemeral":true`)
}

const wiredPlan = `id: wired
description: Check the wire
steps:
  - {id: a, tool: set, params: {n: 1}}
  - {id: b, tool: log, params: {n: "${output.a.n}"}}
`

// The events of /ws, /events, and a run's list are the same flat objects, live and replayed, as the
// API's description declares.
func TestEventsOnTheWire(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator := d.as(t, domain.RoleOperator)
	token, _, err := d.auth.CreateToken(t.Context(), root, "wire", domain.RoleViewer, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.engine.Save(wiredPlan)
	conn, _, err := websocket.Dial(
		t.Context(),
		d.server.URL+api.Base+"/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	stream := d.get(t, token, "/events", "text/event-stream")
	run, err := operator.Start(t.Context(), domain.StartRequest{Plan: "wired", Session: "s1", Input: domain.RawJSON(`"hello"`)})
	if err != nil {
		t.Fatal(err)
	}
	live := overSSE(t, stream.Body, run.ID)
	var socket []string
	for len(socket) == 0 || !over(socket[len(socket)-1]) {
		_, text, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if about(string(text), run.ID) {
			socket = append(socket, string(text))
		}
	}
	if diff := cmp.Diff(live, socket); diff != "" {
		t.Errorf("/ws differs from /events:\n%s", diff)
	}
	path := "/runs/" + run.ID + "/events"
	if diff := cmp.Diff(live, overSSE(t, d.get(t, token, path, "text/event-stream").Body, run.ID)); diff != "" {
		t.Errorf("the replay differs from what was sent live:\n%s", diff)
	}
	// After any event, the replay continues with the next one.
	for i, text := range live[:len(live)-1] {
		id := decoded(t, text)["eventId"].(string)
		if diff := cmp.Diff(live[i+1:], overSSE(t, d.get(t, token, path+"?after="+id, "text/event-stream").Body, run.ID)); diff != "" {
			t.Fatalf("after %s:\n%s", id, diff)
		}
	}
	described(t, d, token, live)
	shape := map[string]string{
		"plan_generated":      "estimatedSteps eventId planId query runId sessionId steps timestamp type",
		"plan_step_started":   "agentId agentName eventId planId runId sessionId stepId stepIndex task timestamp type",
		"plan_step_completed": "eventId planId result runId sessionId status stepId stepIndex timestamp type",
		"plan_completed":      "eventId planId runId sessionId status summary timestamp type",
	}
	count := map[string]int{}
	for _, text := range live {
		e := decoded(t, text)
		typ := e["type"].(string)
		want, ok := shape[typ]
		if !ok {
			continue
		}
		count[typ]++
		if got := keys(e); got != want {
			t.Errorf("%s has %s, want %s", typ, got, want)
		}
		if e["planId"] != run.PlanID || e["sessionId"] != "s1" {
			t.Errorf("%s", text)
		}
	}
	if diff := cmp.Diff(map[string]int{"plan_generated": 1, "plan_step_started": 2, "plan_step_completed": 2,
		"plan_completed": 1}, count); diff != "" {
		t.Error(diff)
	}
}

func keys(e map[string]any) string {
	var list []string
	for k := range e {
		list = append(list, k)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// described checks events against the served description.
func described(t *testing.T, d *daemon, token string, list []string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(d.get(t, token, "/openapi.json", "*/*").Body)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://kairosd.test/openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("https://kairosd.test/openapi.json#/components/schemas/Event")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range list {
		if err := schema.Validate(decoded(t, text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
