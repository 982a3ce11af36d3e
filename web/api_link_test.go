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

// Pages of settings, users, tokens, and two versions link to the API path of the same operation.
// Everyone who may see the page may call it, and its response contains no secret.
func TestPagesOfAnAdminLinkToTheAPIWithoutSecrets(t *testing.T) {
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
		t.Fatal("the server has no secrets to check for")
	}
	sessions, err := site.Auth.Sessions(context.Background(), marta.ID)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%v, %v", sessions, err)
	}
	secrets := []string{text, token.SecretHash, marta.PasswordHash, webtest.Password, sessions[0].IDHash}
	for page, want := range map[string][2]string{
		"/plans/two/diff/1/2": {"/plans/two/diff/1/2",
			`{"sign":"-","text":"  a: {type: set, input: 1}"},{"sign":"+","text":"  a: {type: set, input: 2}"}`},
		"/plans/two/diff/2/1":         {"/plans/two/diff/2/1", `"hashes":["` + second.Hash + `","` + first.Hash + `"]`},
		"/settings/users/" + marta.ID: {"/users/" + marta.ID, `"logins":[{"createdAt":"`},
		"/settings/users/marta":       {"/users/marta", `"hasPassword":true,"secondFactor":false`},
		"/settings/tokens":            {"/tokens", `"prefix":"` + token.Prefix + `"`},
		"/settings/roles":             {"/users", `"role":"admin"`},
		"/settings/access":            {"/settings", `"access":[`},
		"/settings/notifications":     {"/settings", `"notifications":[`},
		"/settings/retention":         {"/settings", `"retention":{`},
		"/settings/secrets":           {"/settings", `"name":"BANK"`},
		"/system/storage":             {"/system", `"storage":{`},
		"/system/jobs":                {"/system", `"jobs":`},
		"/system/config":              {"/settings", `"effective":`},
	} {
		address := "/api/v1" + want[0]
		if shown := b.Get(page); shown.Code != http.StatusOK || !strings.Contains(shown.Body, `href="`+address+`"`) {
			t.Errorf("%s: got status %d, want %d, without a link to %s", page, shown.Code, http.StatusOK, address)
		}
		data := b.Get(address)
		if data.Code != http.StatusOK || !json.Valid([]byte(data.Body)) || !strings.Contains(data.Body, want[1]) {
			t.Errorf("%s: got status %d, want %d lacks %s\n%.900s", address, data.Code, http.StatusOK, want[1], data.Body)
		}
		for _, s := range secrets {
			if strings.Contains(data.Body, s) {
				t.Errorf("%s contains a secret: %s", address, data.Body)
			}
		}
	}
	if p := b.Get("/settings/tokens/" + token.ID); p.Code != http.StatusSeeOther || p.Location != "/settings/tokens" {
		t.Errorf("the address of a token: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	if p := b.Get("/api/v1/tokens/" + token.ID); p.Code != http.StatusOK || !strings.Contains(p.Body, `"name":"ci"`) {
		t.Errorf("the API with a session cookie: got status %d, want %d: %s", p.Code, http.StatusOK, p.Body)
	}
	if _, err := site.Auth.CreateUser(context.Background(), site.Admin, "olga", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	olga := site.Browser(t)
	if !olga.LoginAs("olga", webtest.Password) {
		t.Fatal("user olga cannot log in")
	}
	for address, want := range map[string]int{"/users/marta": 403, "/tokens/" + token.ID: 403, "/settings": 403, "/users": 403,
		"/plans/two/diff/1/2": 200, "/plans/two/diff/1/9": 404, "/plans/two/diff/1/x": 400, "/system": 200} {
		if p := olga.Get("/api/v1" + address); p.Code != want {
			t.Errorf("%s for an operator: got status %d, want %d", address, p.Code, want)
		}
	}
	if p := olga.Get("/system/log"); p.Code != http.StatusOK || strings.Contains(p.Body, `href="/api/v1/settings"`) {
		t.Errorf("the page of an operator: status %d, with a link to the settings", p.Code)
	}
}

// A page links to the API path of the same operation, with the same filter.
func TestAPageLinksToTheAPI(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	plan, failed := seed.Failed.PlanKey, seed.Failed.ID
	for page, want := range map[string][2]string{
		"/runs/" + failed:                        {"/runs/" + failed, failed},
		"/runs/" + failed + "?view=lineage":      {"/runs/" + failed, failed},
		"/runs?q=status%3Afailed+plan%3A" + plan: {"/runs?filter=status%3Afailed+plan%3A" + plan, failed},
		"/plans/" + plan:                         {"/plans/" + plan, plan},
		"/plans/" + plan + "/v/1":                {"/plans/" + plan + "/versions/1", seed.Failed.Hash},
		"/plans":                                 {"/plans", plan},
		"/steps":                                 {"/steps", `"items"`},
		"/handoffs?q=status%3Aopen":              {"/handoffs?filter=status%3Aopen", `"items"`},
		"/approvals":                             {"/approvals", `"items"`},
		"/agents":                                {"/agents", `"items"`},
		"/agents/tools":                          {"/tools", "calculator"},
		"/agents/providers":                      {"/providers", `"script"`},
		"/agents/tools/calculator":               {"/tools/calculator", "calculator"},
		"/agents/agents/desk":                    {"/agents/desk", `"desk"`},
		"/agents/providers/script":               {"/providers/script", `"script"`},
		"/audit":                                 {"/audit/events", "run.created"},
		"/me":                                    {"/me", `"role"`},
		"/memory":                                {"/sessions", `"items"`},
		"/bulk":                                  {"/bulk-operations", `"items"`},
	} {
		address := "/api/v1" + want[0]
		if shown := b.Get(page); !strings.Contains(shown.Body, `href="`+strings.ReplaceAll(address, "&", "&amp;")+`"`) {
			t.Errorf("%s has no link %s", page, address)
		}
		data := b.Get(address)
		if data.Code != http.StatusOK || !strings.Contains(data.Header.Get("Content-Type"), "json") || !json.Valid([]byte(data.Body)) ||
			!strings.Contains(data.Body, want[1]) {
			t.Errorf("%s: got status %d, want %d: %s\n%.300s",
				address, data.Code, http.StatusOK, data.Header.Get("Content-Type"), data.Body)
		}
	}
	for _, page := range []string{"/runs/new", "/plans/new", "/audit/verify", "/help"} {
		if p := b.Get(page); p.Code != http.StatusOK || strings.Contains(p.Body, `>JSON</a>`) && page != "/help" {
			t.Errorf("%s: got status %d, want %d, or a link to the API that shows something else", page, p.Code, http.StatusOK)
		}
	}
	if p := site.Browser(t).Get("/login"); strings.Contains(p.Body, "/api/v1") {
		t.Error("the login page links to the API")
	}
	if p := site.Browser(t).Get("/api/v1/runs"); p.Code != http.StatusUnauthorized {
		t.Errorf("without a login: got status %d, want %d", p.Code, http.StatusUnauthorized)
	}
}
