package cli_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/auth/oidc/oidctest"
)

// The daemon with a configuration file starts while the provider is down, and accepts logins as
// soon as it is up.
func TestServeWithAnIdentityProvider(t *testing.T) {
	t.Parallel()
	idp := oidctest.New(t).Down(true)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("oidc.secret", oidctest.ClientSecret+"\n")
	conf := write(
		"kairos.yaml",
		"login:\n  password: false\n  oidc:\n    issuer: "+idp.URL+
			"\n    client_id: kairosd\n    client_secret_file: oidc.secret\n    label: Example\n    roles: {boss: admin}\n",
	)
	s := serve(t, filepath.Join(dir, "data"), "--config", conf)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	get := func(path string) (int, string) {
		resp, err := browser.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if code, text := get("/login"); code != http.StatusOK || !strings.Contains(text, "Log in with Example") ||
		strings.Contains(text, `type="password"`) {
		t.Fatalf("%d %s", code, text)
	}
	idp.Down(false).Person("1", "marta", "boss")
	if code, text := get("/login/oidc?next=%2Fplans"); code != http.StatusOK || !strings.Contains(text, "You are logged in") {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := get("/settings/users"); code != http.StatusOK || !strings.Contains(text, "marta") {
		t.Errorf("%d %s", code, text)
	}

	// A login link works without the provider.
	out, errs, code := runKairosd("user", "login-link", "marta", "--data", filepath.Join(dir, "data"), "--config", conf)
	if code != 0 || !strings.HasPrefix(out, "/login/link?token=") {
		t.Fatalf("%d %q %s", code, out, errs)
	}
	if code, text := get(strings.TrimSpace(out)); code != http.StatusOK || !strings.Contains(text, "logs you in once") {
		t.Errorf("%d %s", code, text)
	}
	if _, errs, code := runKairosd("user", "link", "marta", "another", "--data", filepath.Join(dir, "data"), "--config", conf); code != 0 {
		t.Errorf("link: %d %s", code, errs)
	}
	if code, _ := get("/settings/users"); code != http.StatusOK { // the login page, by redirect
		t.Errorf("%d", code)
	}
	if u, err := s.Users(t.Context()); err != nil || len(u) != 1 || u[0].Subject != "another" || u[0].Issuer != idp.URL {
		t.Errorf("%+v %v", u, err)
	}
}

func TestServeRefusesAConfigurationWithoutALogin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"login: {password: false}\n": "requires oidc",
		"login: {oidc: {issuer: \"http://login.example.com\", client_id: x}}\n":                               "must begin with https://",
		"login: {oidc: {issuer: \"https://login.example.com\"}}\n":                                            "client_id is missing",
		"login: {oidc: {issuer: \"https://l.example\", client_id: x, roles: {ops: boss}}}\n":                  "is not viewer, operator",
		"login: {oidc: {issuer: \"https://l.example\", client_id: x, client_secret_file: nowhere}}\n":         "client_secret_file",
		"login: {oidc: {issuer: \"https://l.example\", client_id: x, redirect_url: \"https://k.ex/back\"}}\n": "/login/oidc/callback",
		"login: {oidc: {isuer: \"https://l.example\"}}\n":                                                     "did you mean issuer",
	} {
		dir := t.TempDir()
		conf := filepath.Join(dir, "kairos.yaml")
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := runKairosd("serve", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--config",
			conf); code == 0 ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s", text, code, errs)
		}
	}
}
