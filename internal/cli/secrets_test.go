package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/kairos"
)

func TestSecretsReachOnlyTheirToolsAndHosts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("s3cret/value+1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := newSecrets(config.Config{Secrets: map[string]config.Secret{
		"API": {File: file, Tools: []string{"http"}, Hosts: []string{"api.example.com", "127.0.0.1:8081"}},
		"ANY": {File: file, Tools: []string{"crm.find"}},
		"NO":  {File: file},
	}})
	if err != nil {
		t.Fatal(err)
	}
	url := func(u string) any { return map[string]any{"url": u} }
	for _, c := range []struct {
		name, tool string
		input      any
		want       bool
	}{
		{"API", "http", url("https://api.example.com/v1"), true},
		{"API", "http", url("https://API.Example.com:443/v1"), true},
		{"API", "http", `{"url": "https://api.example.com/v1"}`, true},
		{"API", "http", url("http://127.0.0.1:8081/"), true},
		{"API", "http", url("http://127.0.0.1:8082/"), false},
		{"API", "http", url("https://api.example.com:8443/"), false},
		{"API", "http", url("https://api.example.com.evil.test/"), false},
		{"API", "http", url("https://evil.test/?https://api.example.com/"), false},
		{"API", "http", url("https://${secret.API}.evil.test/"), false},
		{"API", "http", url("https://evil.test#@api.example.com/"), false},
		{"API", "http", url(""), false},
		{"API", "http", nil, false},
		{"API", "exec", url("https://api.example.com/"), false},
		{"ANY", "crm.find", nil, true},
		{"ANY", "crm.delete", nil, false},
		{"NO", "http", url("https://api.example.com/"), false},
		{"OTHER", "http", url("https://api.example.com/"), false},
	} {
		if v, ok := s.Secret(c.name, c.tool, c.input); ok != c.want || ok && v != "s3cret/value+1" {
			t.Errorf("%s for %s %v: %v", c.name, c.tool, c.input, ok)
		}
	}
}

// S24: a value is masked in every form in which it is stored or logged.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	value := `pa"ss<w>\d &/+1`
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := newSecrets(config.Config{Secrets: map[string]config.Secret{"K": {File: file}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{value, `{"a":"pa\"ss<w>\\d &/+1"}`, `{"a":"pa\"ss\u003cw\u003e\\d \u0026/+1"}`, "k=pa%22ss%3Cw%3E%5Cd+%26%2F%2B1", "cGEic3M8dz5cZCAmLysx"} {
		got := string(s.Mask([]byte(text)))
		if !strings.Contains(got, "•••• by rule K") || strings.Contains(got, "ss") {
			t.Errorf("%s becomes %s", text, got)
		}
		if again := string(s.Mask([]byte(got))); again != got {
			t.Errorf("what is masked is masked again: %s", again)
		}
	}
	if got := string(s.Mask([]byte("nothing here"))); got != "nothing here" {
		t.Errorf("got %s", got)
	}
	var b bytes.Buffer
	log := s.logger(slog.New(slog.NewTextHandler(&b, nil))).With("token", value).WithGroup("g")
	log.Info("sent "+value, "err", errors.New("refused "+value), "n", 3, slog.Group("in", "v", value))
	if strings.Contains(b.String(), "ss") || strings.Count(b.String(), "••••") != 4 || !strings.Contains(b.String(), "g.n=3") {
		t.Errorf("logged %s", b.String())
	}
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newSecrets(config.Config{Secrets: map[string]config.Secret{"K": {File: file}}}); kairos.CodeOf(err) != kairos.CodeInvalid {
		t.Errorf("a secret too short to be masked: %v", err)
	}
}

// A mask names its rule; not where the name holds a secret, or could not stand in JSON.
func TestAMaskNamesItsRule(t *testing.T) {
	t.Parallel()
	m := &masks{}
	m.add("erp_token", "tok-12345")
	if got := string(m.Mask([]byte(`{"a":"Bearer tok-12345"}`))); got != `{"a":"Bearer •••• by rule erp_token"}` {
		t.Errorf("got %s", got)
	}
	m.add(`a "b`, "other-one")
	if got := string(m.Mask([]byte("other-one"))); got != "••••" {
		t.Errorf("a name that JSON would have to quote: %s", got)
	}
	m.add("short", "rule")
	for text, want := range map[string]string{"tok-12345": "••••", "a rule": "a ••••", "•••• by rule erp_token": "•••• by •••• erp_token"} {
		if got := string(m.Mask([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
