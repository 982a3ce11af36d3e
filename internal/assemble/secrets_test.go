package assemble

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
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
	for _, text := range []string{value, `{"a":"pa\"ss<w>\\d &/+1"}`, `{"a":"pa\"ss\u003cw\u003e\\d \u0026/+1"}`,
		"k=pa%22ss%3Cw%3E%5Cd+%26%2F%2B1", "cGEic3M8dz5cZCAmLysx"} {
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
	log := s.Logger(slog.New(slog.NewTextHandler(&b, nil))).With("token", value).WithGroup("g")
	log.Info("sent "+value, "err", errors.New("refused "+value), "n", 3, slog.Group("in", "v", value))
	if strings.Contains(b.String(), "ss") || strings.Count(b.String(), "••••") != 4 || !strings.Contains(b.String(), "g.n=3") {
		t.Errorf("logged %s", b.String())
	}
	if err := os.WriteFile(file, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newSecrets(config.Config{Secrets: map[string]config.Secret{"K": {File: file}}}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a secret too short to be masked: %v", err)
	}
}

// A mask shows its rule, unless the name contains a secret or is not valid in JSON.
func TestAMaskNamesItsRule(t *testing.T) {
	t.Parallel()
	m := &Masks{}
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

// A value is masked in every encoding in which a server may repeat it.
func TestSecretsAreMaskedInEveryEncoding(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"s3cret/v+1!x", `ends in "`, "1234567890", "päss wörd ☃", "abc>def?ghi~~", `back\slash\\es`} {
		m := &Masks{}
		m.add("K", value)
		units, entities, references, percent := "", "", "", ""
		for _, u := range utf16.Encode([]rune(value)) {
			units += fmt.Sprintf(`\u%04x`, u)
		}
		for _, r := range value {
			entities += fmt.Sprintf("&#%d;", r)
			references += fmt.Sprintf("&#x%X;", r)
		}
		for _, b := range []byte(value) {
			percent += fmt.Sprintf("%%%02x", b)
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(string(quoted))
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{
			"plain": value, "query": url.QueryEscape(value), "path": url.PathEscape(value),
			"lowercase query": strings.ToLower(url.QueryEscape(value)),
			"percent":         percent, "entities": entities, "references": references, "html": html.EscapeString(value), "units": units,
			"upper units": strings.ReplaceAll(strings.ToUpper(units), "U", "u"),
			"JSON": string(
				quoted,
			), "JSON in JSON": string(twice), "hex": hex.EncodeToString([]byte(value)),
			"upper hex": strings.ToUpper(hex.EncodeToString([]byte(value))),
		}
		if url.QueryEscape(value) != strings.ToLower(url.QueryEscape(value)) && strings.ToLower(value) != value {
			delete(texts, "lowercase query")
		}
		for before := range 6 {
			for after := range 4 {
				whole := strings.Repeat("u", before) + value + strings.Repeat("z", after)
				for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.URLEncoding,
					"raw": base64.RawURLEncoding} {
					text := e.EncodeToString([]byte(whole))
					texts[fmt.Sprintf("base64 %s %d %d", name, before, after)] = text
					texts[fmt.Sprintf("wrapped %s %d %d", name, before, after)] = text[:5] + "\r\n" + text[5:9] + "\n" + text[9:]
					texts[fmt.Sprintf("wrapped in JSON %s %d %d", name, before, after)] = text[:5] + `\n` + text[5:9] + `\r\n` + text[9:]
					texts[fmt.Sprintf("escaped %s %d %d", name, before, after)] = url.QueryEscape(text)
				}
			}
		}
		for name, text := range texts {
			got := string(m.Mask([]byte("<" + text + ">")))
			if !strings.Contains(got, "•••• by rule K") || len(got) > len("<•••• by rule K>")+16 {
				t.Errorf("%q, %s: %q becomes %q", value, name, text, got)
			}
		}
		for _, innocent := range []string{"nothing here", "100% of a+b & c\\d \\u12", `{"a":"%zz&amp;&#;&#x;\u00"}`,
			"dW5yZWxhdGVkIHRleHQgdGhhdCBpcyBsb25nZXI="} {
			if got := string(m.Mask([]byte(innocent))); got != innocent {
				t.Errorf("%q: %q becomes %q", value, innocent, got)
			}
		}
	}
}

// Every configured secret is masked, not only those that plans refer to.
func TestEveryConfiguredSecretIsMasked(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "value")
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	cfg := config.Config{
		Providers: map[string]config.Provider{"main": {Type: "openai", APIKeyFile: file("sk-provider-1")}},
		Login:     config.Login{OIDC: &config.OIDC{ClientSecretFile: file("client-secret-1")}},
		Notifications: config.Notifications{Channels: map[string]config.NotificationChannel{
			"hook": {Type: "webhook", URLFile: file("https://hooks.example.com/T1/B2/xyz"), SecretFile: file("hook-secret-1")},
			"mail": {Type: "email", SMTP: "mail.example.com:587", PasswordFile: file("mail-password-1")},
		}},
	}
	s, err := newSecrets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for text, rule := range map[string]string{"Incorrect API key provided: sk-provider-1.": "providers.main.api_key",
		"client-secret-1": "login.oidc.client_secret",
		"POST https://hooks.example.com/T1/B2/xyz: 404": "notifications.hook.url", "hook-secret-1": "notifications.hook.secret",
		"535 mail-password-1": "notifications.mail.password"} {
		if got := string(s.Mask([]byte(text))); !strings.Contains(got, dots+" by rule "+rule) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
