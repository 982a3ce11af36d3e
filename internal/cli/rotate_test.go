package cli_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret's new value is read from its file without a restart, with a reason for the audit log. A
// value in the environment cannot change. The list shows the users of a secret.
func TestASecretIsRotated(t *testing.T) {
	t.Setenv("KAIROS_TEST_OTHER", "another value")
	data, dir := t.TempDir(), t.TempDir()
	file, conf := filepath.Join(dir, "bank"), filepath.Join(dir, "kairos.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "the first value\n")
	write(
		conf,
		"secrets: {BANK: {file: "+file+", tools: [http], hosts: [bank.example]}, OTHER: {env: KAIROS_TEST_OTHER, tools: [http], "+
			"hosts: [x.example]}}\n"+
			"providers: {local: {type: openai, base_url: \"http://127.0.0.1:9/v1\", model: m, api_key_env: KAIROS_TEST_OTHER}}\n",
	)
	serve(t, data, "--config", conf)
	local := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(data, "kairosd.sock"))
	}}}
	t.Cleanup(local.CloseIdleConnections)
	ask := func(method, path, text string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, "http://kairosd/api/v1"+path, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if kind := "application/json"; text != "" {
			if path == "/plans" {
				kind = "application/yaml"
			}
			req.Header.Set("Content-Type", kind)
		}
		res, err := local.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	if code, body := ask(http.MethodPost, "/plans",
		"id: pay\nnodes:\n  p: {type: http, input: {url: \"https://bank.example\", "+
			"headers: {Authorization: \"Bearer ${secret.BANK}\"}}}\n"); code != http.StatusCreated {
		t.Fatalf("plan: %d %s", code, body)
	}
	_, body := ask(http.MethodGet, "/settings", "")
	for _, want := range []string{`"plans":["pay"]`, `"usedBy":[{"kind":"provider","name":"local"}]`, `"rotates":true`, `"rotates":false`} {
		if !strings.Contains(strings.ReplaceAll(body, " ", ""), want) {
			t.Errorf("the settings do not say %s: %s", want, body)
		}
	}
	rotate := func(name string) (int, string) {
		t.Helper()
		return ask(http.MethodPost, "/secrets/"+name+"/rotate", `{"reason": "it leaked"}`)
	}
	if code, body := rotate("BANK"); code != http.StatusOK || !strings.Contains(body, `"name":"BANK"`) {
		t.Errorf("nothing new: %d %s", code, body)
	}
	write(file, "x")
	if code, body := rotate("BANK"); code != http.StatusUnprocessableEntity {
		t.Errorf("too short: %d %s", code, body)
	}
	write(file, "the second value\n")
	if code, body := rotate("BANK"); code != http.StatusOK || !strings.Contains(body, `"name":"BANK"`) ||
		strings.Contains(body, "second value") {
		t.Errorf("a new value: %d %s", code, body)
	}
	if code, body := rotate("OTHER"); code != http.StatusConflict || !strings.Contains(body, "restart") {
		t.Errorf("in the environment: %d %s", code, body)
	}
	if code, _ := rotate("NONE"); code != http.StatusNotFound {
		t.Errorf("no secret: %d", code)
	}
	_, body = ask(http.MethodGet, "/audit/events?filter=action:secret.rotate", "")
	if !strings.Contains(body, "it leaked") || !strings.Contains(body, `"secret:BANK"`) || strings.Contains(body, "second value") {
		t.Errorf("the audit log: %s", body)
	}
}
