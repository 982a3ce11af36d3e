package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/notify"
)

// The real daemon notifies a webhook of a failed run, once across a restart.
func TestServeNotifies(t *testing.T) {
	t.Parallel()
	got := make(chan notify.Message, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
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
	next := func() notify.Message {
		t.Helper()
		select {
		case m := <-got:
			return m
		case <-time.After(2 * time.Minute):
			t.Fatal("nobody was told")
			return notify.Message{}
		}
	}
	d := serve(t, data, "--config", conf)
	first := d.start(t, "id: bad\nnodes:\n  a: {type: json, input: {value: 1, path: \"(\"}}\n")
	told := next()
	if told.Kind != "failed" || told.Run == nil || told.Run.RunID != first.ID || told.Run.Plan != "bad" ||
		!strings.HasSuffix(told.Run.URL, "/runs/"+first.ID) {
		t.Errorf("told %+v", told)
	}
	if code := d.end(t); code != 0 {
		t.Fatalf("exit %d", code)
	}
	d = serve(t, data, "--config", conf)
	second := d.start(t, waits)
	m := next()
	for m.ID == told.ID { // at least once: a repetition has the same id
		m = next()
	}
	if m.Kind != "approval" || m.Run.RunID != second.ID {
		t.Errorf("after the restart: %+v", m)
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
