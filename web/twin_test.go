package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// What pages of settings, users, tokens and of two versions show is there for
// programs too, linked from the page, for who may see the page, and holds no secret.
func TestPagesOfAnAdminHaveTwinsWithoutSecrets(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	first := site.Plan(t, "id: two\nnodes:\n  a: {type: set, input: 1}\n")
	second := site.Plan(t, "id: two\nnodes:\n  a: {type: set, input: 2}\n")
	marta, err := site.Auth.User(context.Background(), "marta")
	if err != nil {
		t.Fatal(err)
	}
	text, token, err := site.Auth.CreateToken(context.Background(), site.Admin, "ci", domain.RoleViewer, nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if marta.PasswordHash == "" || token.SecretHash == "" {
		t.Fatal("there is no secret that could be told")
	}
	sessions, err := site.Auth.Sessions(context.Background(), marta.ID)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%v, %v", sessions, err)
	}
	secrets := []string{text, token.SecretHash, marta.PasswordHash, webtest.Password, sessions[0].IDHash}
	for page, want := range map[string]string{
		"/plans/two/diff/1/2":                      `{"sign":"-","text":"  a: {type: set, input: 1}"},{"sign":"+","text":"  a: {type: set, input: 2}"}`,
		"/plans/two/diff/2/1":                      `"hashes":["` + second.Hash + `","` + first.Hash + `"]`,
		"/settings/users/" + marta.ID:              `"logins":[{"createdAt":"`,
		"/settings/users/marta":                    `"hasPassword":true,"secondFactor":false`,
		"/settings/tokens/" + token.ID + "/revoke": `"prefix":"` + token.Prefix + `"`,
		"/settings/roles":                          `"role":"admin"`,
		"/settings/access":                         `"access":[`,
		"/settings/notifications":                  `"notifications":[`,
		"/settings/retention":                      `"retention":{`,
		"/settings/secrets":                        `"name":"BANK"`,
		"/system/storage":                          `"storage":{`,
		"/system/jobs":                             `"jobs":`,
		"/system/config":                           `"effective":`,
	} {
		if shown := b.Get(page); shown.Code != http.StatusOK || !strings.Contains(shown.Body, `href="`+page+`.json"`) {
			t.Errorf("%s: %d, without a link to its data", page, shown.Code)
		}
		data := b.Get(page + ".json")
		if data.Code != http.StatusOK || !json.Valid([]byte(data.Body)) || !strings.Contains(data.Body, want) {
			t.Errorf("%s.json: %d lacks %s\n%.900s", page, data.Code, want, data.Body)
		}
		for _, s := range secrets {
			if strings.Contains(data.Body, s) {
				t.Errorf("%s.json tells a secret: %s", page, data.Body)
			}
		}
	}
	if p := b.Get("/settings/tokens/" + token.ID); p.Code != http.StatusSeeOther || p.Location != "/settings/tokens" {
		t.Errorf("a token's own address: %d %s", p.Code, p.Location)
	}
	if p := b.Get("/settings/tokens/" + token.ID + ".json"); p.Code != http.StatusOK || !strings.Contains(p.Body, `"name":"ci"`) {
		t.Errorf("a token for programs: %d %s", p.Code, p.Body)
	}
	if _, err := site.Auth.CreateUser(context.Background(), site.Admin, "olga", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	olga := site.Browser(t)
	if !olga.LoginAs("olga", webtest.Password) {
		t.Fatal("olga cannot log in")
	}
	for page, want := range map[string]int{"/settings/users/marta.json": 403, "/settings/tokens/" + token.ID + ".json": 403, "/settings/secrets.json": 403, "/settings/roles.json": 403, "/system/config.json": 403,
		"/plans/two/diff/1/2.json": 200, "/plans/two/diff/1/9.json": 404, "/plans/two/diff/1/x.json": 400, "/system/storage.json": 200} {
		if p := olga.Get(page); p.Code != want {
			t.Errorf("%s for an operator: %d, want %d", page, p.Code, want)
		}
	}
}
