package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kairosd/kairosd/internal/domain"
)

// The real daemon notifies a webhook of a failed run, once across a restart.
func TestServeNotifies(t *testing.T) {
	t.Parallel()
	got := make(chan domain.Notification, 10)
	bodies := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m domain.Notification
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &m)
		}
		if err != nil {
			t.Error(err)
		}
		bodies <- string(body)
		if !strings.HasPrefix(r.Header.Get("Webhook-Signature"), "v1,") {
			t.Errorf("signature %q", r.Header.Get("Webhook-Signature"))
		}
		got <- m
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	data, conf := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	for name, text := range map[string]string{"hook.secret": "shared",
		"kairos.yaml": "notifications:\n  url: https://kairos.example.com\n  allow_private: [\"127.0.0.0/8\"]\n  channels:\n" +
			"    ops: {type: webhook, url: \"" + receiver.URL + "/path\", secret_file: hook.secret}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next := func() domain.Notification {
		t.Helper()
		select {
		case m := <-got:
			return m
		case <-time.After(2 * time.Minute):
			t.Fatal("no notification was sent")
			return domain.Notification{}
		}
	}
	d := serve(t, data, "--config", conf)
	first := d.start(t, "id: bad\nnodes:\n  a: {type: json, input: {value: 1, path: \"(\"}}\n")
	failed := next()
	if failed.Kind != "failed" || failed.Run == nil || failed.Run.ID != first.ID || failed.Run.Plan.Key != "bad" ||
		!strings.HasSuffix(failed.Run.URL, "/runs/"+first.ID) {
		t.Errorf("received %+v", failed)
	}
	if code := d.end(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	d = serve(t, data, "--config", conf)
	second := d.start(t, waits)
	m := next()
	for m.ID == failed.ID { // at least once: a repetition has the same id
		m = next()
	}
	if m.Kind != "approval" || m.Run.ID != second.ID {
		t.Errorf("after the restart: %+v", m)
	}
	token, _, _ := runKairosd("token", "create", "--data", data, "--role", "admin", "--name", "tester")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/api/v1/notifications/ops/test", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("the test answers %d", res.StatusCode)
	}
	for m.Kind != "test" {
		m = next()
	}
	notificationsAsDescribed(t, d, bodies)
}

// notificationsAsDescribed checks the bodies of webhooks against the served description.
func notificationsAsDescribed(t *testing.T, d *serving, bodies chan string) {
	t.Helper()
	_, text := d.get(t, "/api/v1/openapi.json")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://kairosd.test/openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	const webhook = "https://kairosd.test/openapi.json#/webhooks/notification/post/requestBody/content/application~1json/schema"
	schema, err := c.Compile(webhook)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for len(bodies) > 0 {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(<-bodies))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v: %v", v, err)
		}
		kinds[v.(map[string]any)["kind"].(string)] = true
	}
	if !kinds["failed"] || !kinds["approval"] || !kinds["test"] {
		t.Errorf("only %v were received", kinds)
	}
}

func TestServeRefusesInvalidChannels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{ops: {type: pigeon}}":                                                            "neither webhook nor email",
		"{ops: {type: webhook}}":                                                           "exactly one of url",
		"{ops: {type: webhook, url: \"ftp://x\"}}":                                         "must begin with",
		"{ops: {type: webhook, url: \"https://x.example\", on: [lunch]}}":                  "unknown event",
		"{ops: {type: webhook, url_file: nowhere}}":                                        "the address of ops",
		"{m: {type: email, smtp: x, from: a@b.c, to: [d@e.f]}}":                            "not host:port",
		"{m: {type: email, smtp: \"x:25\", tls: none, from: a@b.c, to: [d@e.f]}}":          "on this machine",
		"{m: {type: email, smtp: \"x:25\", from: \"a@b.c\\r\\nBcc: x@y.z\", to: [d@e.f]}}": "not an e-mail address",
	} {
		dir := t.TempDir()
		conf := filepath.Join(dir, "kairos.yaml")
		if err := os.WriteFile(conf, []byte("notifications: {channels: "+text+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := runKairosd("serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--config",
			conf); code == 0 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", text, code, errs)
		}
	}
}
