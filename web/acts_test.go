package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/webtest"
)

// unauditedRoutes maps POST routes without an audit record to the reason. Some change nothing, and some need
// the whole daemon; those name the test that checks their record.
var unauditedRoutes = map[string]string{
	"POST /display":                 "keeps the reader's choice",
	"POST /views/default":           "keeps the reader's choice of what the run list opens with",
	"POST /first-steps":             "keeps the reader's choice",
	"POST /columns":                 "keeps the reader's choice of columns",
	"POST /plan-checks":             "checks a text",
	"POST /plan-file-checks":        "checks texts",
	"page POST /plans/check":        "checks a text",
	"POST /planner/classify":        "classifies a text",
	"POST /system/release":          "internal/cli TestBackupRestoreRelease",
	"POST /system/backup":           "internal/cli TestSystemActionsAreRecorded",
	"POST /system/retention":        "internal/cli TestSystemActionsAreRecorded",
	"POST /users/{id}/login-link":   "internal/cli TestSystemActionsAreRecorded",
	"POST /runs/{id}/confirm":       "internal/app TestAProgramActsOnWhatAPersonConfirmed", // tokens cannot confirm
	"POST /runs/{id}/refuse":        "internal/app TestAProgramAsksForAConfirmation",       // tokens cannot refuse
	"POST /ask":                     "internal/cli TestSystemActionsAreRecorded",
	"POST /planner/plan":            "internal/cli TestSystemActionsAreRecorded",
	"page POST /system/release":     "internal/cli TestBackupRestoreRelease",
	"page POST /system/backup":      "internal/cli TestSystemActionsAreRecorded",
	"POST /tools/{name}/try":        "starts a run, as POST /runs does",
	"PUT /system/maintenance":       "internal/cli TestMaintenanceCommand",
	"DELETE /system/maintenance":    "internal/cli TestMaintenanceCommand",
	"page POST /system/maintenance": "internal/cli TestMaintenanceCommand",
}

// Every action, through a page or the API, is in the audit log with its actor. The test fails for a
// new route that it does not call.
func TestEveryActionIsRecorded(t *testing.T) {
	t.Parallel()
	s := &actionTest{Site: webtest.New(t), t: t, done: map[string]bool{}}
	s.b = s.Browser(t)
	s.recorded("page POST /setup", "marta", func() { s.b.Login() })
	seed := s.Seed(t)
	var err error
	token := domain.Token{}
	if s.token, token, err = s.Auth.CreateToken(t.Context(), s.Admin, "acts", domain.RoleAdmin, nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	s.actor = auth.TokenActor(token)
	busy := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
	)
	t.Cleanup(busy.Close)
	s.Plan(
		t,
		"id: later\nnodes:\n  a: {type: http, effect: read, retry: {max_attempts: 2, backoff: [1h]}, input: {url: \""+busy.URL+"\"}}\n",
	)

	s.loggedIn()
	s.plans()
	s.runs(seed)
	s.bulks()
	s.schedules()
	s.signals()
	s.hooks()
	s.budgets()
	s.accounts()
	s.tools()
	s.memories()
	s.settings()
	s.demonstration()

	for _, r := range s.Routes() {
		if route := "page " + r.Method + " " + r.Path; r.Method != http.MethodGet && !s.done[route] && unauditedRoutes[route] == "" &&
			unauditedRoutes[r.Method+" "+r.Path] == "" {
			t.Errorf("%s is not among the actions of this test", route)
		}
	}
	for _, r := range s.Permissions() {
		if route := r.Method + " " + r.Path; r.Method != http.MethodGet && !s.done[route] && unauditedRoutes[route] == "" {
			t.Errorf("%s is not among the actions of this test", route)
		}
	}
	t.Logf("%d actions", len(s.done))
}

// demonstration starts a demo and answers its requests.
func (s *actionTest) demonstration() {
	s.page("/demo", "/demo", `action="/demo"`, "do", "unsafe")
	s.Demo.Set(webtest.DemoInDoubt())
	s.page("/demo/answer", "/demo", `action="/demo/answer"`, "to", "/demo/answer", "do", "happened")
}

func (s *actionTest) loggedIn() {
	other := s.Browser(s.t)
	s.recorded("page POST /login", "marta", func() { other.LoginAs("marta", webtest.Password) })
	f := webtest.Form(s.t, other.Get("/me").Body, `action="/logout"`)
	s.recorded("page POST /logout", "marta", func() { other.Post("/logout", f) })
	secret, err := s.Auth.LoginLink(s.t.Context(), domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}, "marta")
	if err != nil {
		s.t.Fatal(err)
	}
	s.recorded("page POST /login/link", "marta", func() { other.Post("/login/link", url.Values{"csrf": {"anonymous"}, "token": {secret}}) })
	s.secondFactor()
	s.page("/me/sessions", "/me", "others", "to", "/me/sessions", "session", "others")
	s.page(
		"/me/password",
		"/me",
		`name="old"`,
		"to",
		"/me/password",
		"old",
		webtest.Password,
		"password",
		"another good password",
		"again",
		"another good password",
	)
	s.page("/views", "/runs?q=plan:ledger", `action="/views"`, "to", "/views", "name", "mine")
}

// secondFactor makes another user, whose login requires a code, enable and disable the second
// factor.
func (s *actionTest) secondFactor() {
	if _, err := s.Auth.CreateUser(s.t.Context(), s.Admin, "carla", webtest.Password, domain.RoleViewer); err != nil {
		s.t.Fatal(err)
	}
	carla := s.Browser(s.t)
	carla.LoginAs("carla", webtest.Password)
	f := carla.Get("/me/second-factor").Hidden()
	f.Set("do", "on")
	f.Set("code", webtest.Authenticator(s.t, f.Get("secret"), time.Now()))
	var codes []string
	s.recorded("page POST /me/second-factor", "carla", func() {
		codes = webtest.RecoveryCode.FindAllString(carla.Post("/me/second-factor", f).Body, -1)
	})
	if len(codes) == 0 {
		s.t.Fatal("no recovery codes")
	}
	ask := s.Browser(s.t)
	g := ask.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"carla"}, "password": {webtest.Password}}).Hidden()
	g.Set("code", codes[0])
	s.recorded("page POST /login/code", "carla", func() { ask.Post("/login/code", g) })
}

func (s *actionTest) plans() {
	const a, b, c, d = "id: %s\nnodes: {a: {type: set, input: 1}}\n", "id: %s\nnodes: {a: {type: set, input: 2}}\n",
		"id: %s\nnodes: {a: {type: set, input: 3}}\n", "id: %s\nnodes: {a: {type: set, input: 4}}\n"
	s.page("/plans/new", "/plans/new", `name="source"`, "source", fmt.Sprintf(a, "paper"), "do", "save")
	s.page("/plans/:plan/edit", "/plans/paper/edit", `name="source"`, "source", fmt.Sprintf(b, "paper"), "do", "save")
	s.page("/plans/:plan/start", "/plans/paper/start", `action="/plans/paper/start"`)
	s.page("/plans/:plan/v/:number/restore", "/plans/paper/v/1/restore", `name="base"`, "reason", "the first one was right")
	s.page("/plans/:plan/pause", "/plans/paper/pause", `name="do"`, "reason", "it floods the bank")
	s.page("/plans/:plan/archive", "/plans/paper/archive", `name="reason"`, "reason", "not needed")
	s.api("POST /plans", "/plans", fmt.Sprintf(c, "wire"))
	s.api("POST /plans", "/plans", fmt.Sprintf(d, "wire"))
	s.api("POST /plans/{id}/versions/{n}/restore", "/plans/wire/versions/1/restore", map[string]string{"reason": "the first one was right"})
	s.api("POST /runs", "/runs", map[string]any{"document": fmt.Sprintf(c, "tried"), "dryRun": true})
	if _, _, _, _, err := s.Engine.SavePlan(s.t.Context(), s.Admin, fmt.Appendf(nil, c, "drafted"), planner.FormatYAML,
		"planner", ""); err != nil {
		s.t.Fatal(err)
	}
	s.api("POST /plans/{id}/accept", "/plans/drafted/accept", map[string]string{"reason": "good"})
	s.api("POST /plans/{id}/pause", "/plans/wire/pause", map[string]string{"reason": "it floods the bank"})
	s.api("POST /plans/{id}/unpause", "/plans/wire/unpause", map[string]string{"reason": "it is over"})
	s.api("POST /plans/{id}/archive", "/plans/wire/archive", map[string]string{"reason": "not needed"})
	s.api("POST /plans/{id}/unarchive", "/plans/wire/unarchive", map[string]string{"reason": "needed"})
	if _, _, _, _, err := s.Engine.SavePlan(s.t.Context(), s.Admin, fmt.Appendf(nil, d, "made"), planner.FormatYAML, "planner",
		""); err != nil {
		s.t.Fatal(err)
	}
	s.page("/plans/:plan/v/:number/accept", "/plans/made/v/1/accept", `name="do"`, "reason", "good")
	p := s.page("/ask", "/ask", `name="intent"`, "intent", "collect the figures")
	s.Drafted(s.t, p.Location)
	s.page("/plans/drafts/:draft/accept", p.Location, "Accept and start", "to", p.Location+"/accept", "do", "accept")
	p = s.page("/plans/drafts", "/ask", `name="intent"`, "to", "/plans/drafts", "intent", "please collect the figures of today")
	s.Drafted(s.t, p.Location)
	more := s.page(
		"/plans/drafts/:draft/refine",
		p.Location,
		"Make another draft",
		"to",
		p.Location+"/refine",
		"change",
		"then notify everybody",
	)
	s.Drafted(s.t, more.Location)
	s.page("/plans/drafts/:draft/discard", p.Location+"/discard", "Discard the draft", "to", p.Location+"/discard")
	begun, _ := s.api("POST /drafts", "/drafts", map[string]any{"query": "collect what the wire says"})["id"].(string)
	s.Drafted(s.t, begun)
	other, _ := s.api("POST /drafts/{id}/refine", "/drafts/"+begun+"/refine",
		map[string]string{"change": "then notify everybody"})["id"].(string)
	s.Drafted(s.t, other)
	s.api("POST /drafts/{id}/accept", "/drafts/"+begun+"/accept", map[string]string{"reason": "good"})
	s.api("POST /drafts/{id}/start", "/drafts/"+begun+"/start", map[string]bool{"accept": true})
	s.api("POST /drafts/{id}/discard", "/drafts/"+other+"/discard", map[string]string{"reason": "not needed"})
}

func (s *actionTest) runs(seed webtest.Seeded) {
	ref := map[string]string{"plan": "ledger", "node": "post", "code": seed.Failed.Error.Code}
	query := "?plan=ledger&node=post&code=" + seed.Failed.Error.Code
	s.page("/failures/ack", "/failures/ack"+query, `name="note"`, "note", "why not")
	s.page("/failures/unack", "/failures/unack"+query, `action="/failures/unack"`)
	s.api("POST /failure-groups/{fingerprint}/acknowledgement", "/failure-groups/any/acknowledgement", ref)
	s.api("DELETE /failure-groups/{fingerprint}/acknowledgement", "/failure-groups/any/acknowledgement"+query, "")
	s.api("POST /views", "/views", map[string]any{"name": "old", "filter": "status:failed"})
	s.api("DELETE /views/{name}", "/views/old", "")
	s.page("/runs/:run/note", "/runs/"+seed.Failed.ID+"/note", `name="text"`, "text", "why not")
	s.api("POST /runs/{id}/notes", "/runs/"+seed.Failed.ID+"/notes", map[string]string{"text": "why not"})
	known, other := s.failed(), s.failed()
	s.page("/runs/:run/ack", "/runs/"+known+"/ack", `name="note"`, "note", "known")
	s.page("/runs/:run/unack", "/runs/"+known+"/unack", `action="/runs/`)
	s.api("POST /runs/{id}/acknowledge", "/runs/"+other+"/acknowledge", map[string]string{"note": "known"})
	s.api("POST /runs/{id}/unacknowledge", "/runs/"+other+"/unacknowledge", "")
	s.api("POST /runs/{id}/resume", "/runs/"+s.scheduled()+"/resume", map[string]any{"reason": "now", "startNow": true})
	for _, do := range []string{"resume", "rerun", "fork"} {
		id := s.failed()
		s.page("/runs/:run/:action", "/runs/"+id+"/"+do, `name="idem"`, "do", "act", "reason", "why not")
		s.api("POST /runs/{id}/"+do, "/runs/"+s.failed()+"/"+do, map[string]string{"reason": "why not"})
	}
	s.undo()
	s.confirmed(s.failed())
	w := s.waiting()
	for _, do := range []string{"pause", "unpause", "cancel"} {
		s.page("/runs/:run/:action", "/runs/"+w+"/"+do, `name="idem"`, "do", "act", "reason", "why not")
	}
	w = s.waiting()
	s.api("PATCH /runs/{id}", "/runs/"+w, map[string]any{"limits": map[string]any{"maxSteps": 1000}})
	for _, do := range []string{"pause", "unpause", "cancel"} {
		s.api("POST /runs/{id}/"+do, "/runs/"+w+"/"+do, map[string]string{"reason": "why not"})
	}
	s.page("/runs/:run/:action", "/runs/"+seed.Completed.ID+"/delete", `name="idem"`, "do", "act", "reason", "why not")
	s.api("DELETE /runs/{id}", "/runs/"+w+"?reason=old", "")
	later := s.retrying()
	s.api("POST /runs/{id}/resume", "/runs/"+later+"/resume", map[string]string{"reason": "now"})
	s.api("POST /plan-files", "/plan-files", map[string]any{"root": "m.yaml",
		"files": map[string]string{"m.yaml": "id: filed\nnodes: {a: {type: set, input: 1}}"}})
	s.api("POST /runs", "/runs", map[string]any{"plan": "report"})
	s.page("/approvals/:approval", "/approvals/"+s.approval(), `name="answer"`, "answer", "approve")
	s.api("POST /approvals/{id}/decide", "/approvals/"+s.approval()+"/decide", map[string]any{"answer": "approve"})
	given := "/approvals/" + s.approval()
	s.page("/approvals/:approval/assign", given, `name="assignee"`, "to", given+"/assign", "assignee", "marta", "reason", "knows it")
	s.api("POST /approvals/{id}/assign", given+"/assign", map[string]any{"assignee": ""})
	s.bulkDecision()
	s.page(
		"/runs/:run/nodes/:node/resolve",
		"/runs/"+seed.InDoubt.ID,
		"/nodes/pay/resolve",
		"to",
		"/runs/"+seed.InDoubt.ID+"/nodes/pay/resolve",
		"action",
		"skip",
		"reason",
		"nobody knows",
	)
	s.doubtsTogether()
	doubt := s.Run(s.t, "payment", "null")
	s.api(
		"POST /runs/{id}/nodes/{node}/resolve",
		"/runs/"+doubt.ID+"/nodes/pay/resolve",
		map[string]any{"visit": 1, "attempt": 1, "action": "fail", "reason": "nobody knows"},
	)
}

func (s *actionTest) bulks() {
	slow := func() string {
		for range 3 {
			s.failed()
		}
		p := s.page("/bulk", "/bulk/new?do=resume&q=plan:ledger", `name="digest"`, "to", "/bulk", "reason", "again", "rate", "1")
		return strings.TrimPrefix(p.Location, "/bulk/")
	}
	id := slow()
	s.page("/bulk/:bulk/stop", "/bulk/"+id, "/stop", "to", "/bulk/"+id+"/stop", "reason", "enough")
	started := s.api(
		"POST /bulk-operations",
		"/bulk-operations",
		map[string]any{"action": "resume", "filter": "plan:ledger", "reason": "again", "rate": 1},
	)
	other, _ := started["id"].(string)
	s.api("POST /bulk-operations/{id}/stop", "/bulk-operations/"+other+"/stop", map[string]string{"reason": "enough"})
}

// schedules creates, changes, pauses, resumes, and deletes schedules, and runs past and missed
// times.
func (s *actionTest) schedules() {
	s.page("/schedules/new", "/schedules/new", `name="cron"`, "key", "hourly", "plan", "later", "cron", "@hourly", "overlap", "skip",
		"catchup", "ask", "do", "save")
	s.page("/schedules/:schedule/edit", "/schedules/hourly/edit", `name="cron"`, "plan", "later", "cron", "@daily", "overlap", "skip", "catchup", "ask",
		"do", "save")
	s.page("/schedules/:schedule/pause", "/schedules/hourly/pause", `name="reason"`)
	s.page("/schedules/:schedule/resume", "/schedules/hourly/resume", `name="reason"`)
	s.miss("hourly")
	s.page("/schedules/:schedule/missed", "/schedules/hourly/missed", `name="missed"`, "decision", "none")
	from := time.Now().UTC().AddDate(0, 0, -2).Format("2006-01-02T15:04")
	s.page("/schedules/:schedule/backfill", "/schedules/hourly/backfill?from="+from, `name="slots"`)
	s.page("/schedules/:schedule/delete", "/schedules/hourly/delete", `name="reason"`)
	s.api("POST /schedules", "/schedules", map[string]any{"key": "nightly", "plan": "later", "cron": "@hourly", "catchUp": "ask"})
	s.api("PATCH /schedules/{id}", "/schedules/nightly", map[string]any{"cron": "@daily"})
	s.api("POST /schedules/{id}/pause", "/schedules/nightly/pause", map[string]string{"reason": "holidays"})
	s.api("POST /schedules/{id}/resume", "/schedules/nightly/resume", map[string]string{"reason": "back"})
	s.miss("nightly")
	s.api("POST /schedules/{id}/missed", "/schedules/nightly/missed", map[string]string{"decision": "none"})
	s.api("POST /schedules/{id}/backfill", "/schedules/nightly/backfill", map[string]any{"from": time.Now().AddDate(0, 0, -2)})
	s.api("DELETE /schedules/{id}", "/schedules/nightly", "")
}

// miss makes a schedule miss its next slot.
func (s *actionTest) miss(key string) {
	x, err := s.Store.Schedule(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	missed := domain.MissedSlots{ID: domain.NewID(), First: x.Next, Last: x.Next, Slots: 1, CreatedAt: x.CreatedAt}
	later := x.Next.AddDate(0, 0, 1)
	move := domain.SlotMove{From: x.Next, Next: later, Due: later, Missed: &missed}
	if err := s.Store.MoveSchedule(s.t.Context(), x.ID, move, nil); err != nil {
		s.t.Fatal(err)
	}
}

func (s *actionTest) signals() {
	s.api("POST /signals", "/signals", map[string]any{"name": "paid.42", "data": map[string]int{"amount": 12}})
}

func (s *actionTest) accounts() {
	s.page("/settings/users", "/settings/users", `name="name"`, "name", "olga", "password", webtest.Password, "role", "viewer")
	olga, err := s.Auth.User(s.t.Context(), "olga")
	if err != nil {
		s.t.Fatal(err)
	}
	for do, fields := range map[string][]string{"role": {"role", "operator"}, "password": {"password", "yet another password"},
		"sign-out": nil, "disable": nil} {
		s.page("/settings/users/:user", "/settings/users/"+olga.ID, `value="`+do+`"`, append(fields, "do", do)...)
	}
	s.api("POST /users", "/users", map[string]string{"name": "otto", "password": webtest.Password, "role": "viewer"})
	s.api("PATCH /users/{id}", "/users/otto", map[string]string{"role": "author"})
	other := webtest.NewLinked(s.t, s.Site)
	if _, err := other.LinkUser(s.t.Context(), s.Admin, "otto", "7"); err != nil {
		s.t.Fatal(err)
	}
	s.api("POST /users/{id}/link", "/users/otto/link", map[string]string{"subject": ""})
	s.api("POST /users/{id}/sign-out", "/users/otto/sign-out", "")
	s.api("DELETE /users/{id}/second-factor", "/users/carla/second-factor", "") // carla enrolled at login
	s.page("/settings/tokens", "/settings/tokens", `name="name"`, "name", "ci", "role", "viewer", "lifetime", "24h")
	s.api("POST /tokens", "/tokens", map[string]string{"name": "more", "role": "viewer"})
	tokens, err := s.Auth.Tokens(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, k := range tokens {
		switch k.Name {
		case "ci":
			s.page("/settings/tokens/:token/revoke", "/settings/tokens/"+k.ID+"/revoke", `name="idem"`, "reason", "the laptop was stolen")
		case "more":
			s.api("DELETE /tokens/{id}", "/tokens/"+k.ID, "")
		}
	}
}

func (s *actionTest) memories() {
	s.Plan(s.t, "id: say\nnodes:\n  say: {type: set, input: \"${input}\"}\n")
	remember := func(actor domain.Actor, session string) {
		r, err := s.Engine.Start(s.t.Context(), actor, domain.StartRequest{Plan: "say", Session: session, Input: domain.RawJSON(`"hello"`)})
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.Engine.Wait(s.t.Context(), r.ID); err != nil {
			s.t.Fatal(err)
		}
	}
	remember(s.Admin, "one")
	s.page("/memory/forget", "/memory/forget?session=one", `name="reason"`, "to", "/memory/forget", "session", "one", "reason", "asked to")
	remember(domain.Actor{Name: s.actor, Role: domain.RoleAdmin, Source: "api"}, "two")
	s.api("DELETE /sessions/{id}/memory", "/sessions/two/memory?reason=asked", "")
}

// bulkDecision decides two similar approval requests at once.
func (s *actionTest) bulkDecision() {
	s.Plan(s.t, "id: twice\nnodes:\n  ask: {type: approval, input: {message: \"Again?\"}}\n")
	s.Run(s.t, "twice", "1")
	s.Run(s.t, "twice", "2")
	s.recorded("page POST /approvals/bulk", "marta", func() {
		shown := s.b.Get("/approvals/bulk?plan=twice&node=ask&answer=approve")
		form := webtest.Form(s.t, shown.Body, `name="item"`)
		form["item"], form["digest"] = nil, nil
		for _, name := range []string{"item", "digest"} {
			for _, m := range regexp.MustCompile(`name="`+name+`" value="([^"]+)"`).FindAllStringSubmatch(shown.Body, -1) {
				form.Add(name, m[1])
			}
		}
		if p := s.b.Post("/approvals/bulk", form); p.Code != http.StatusSeeOther || len(form["item"]) != 2 {
			s.t.Errorf("got status %d, want %d of %d\n%s", p.Code, http.StatusSeeOther, len(form["item"]), webtest.Text(p.Body))
		}
	})
}

// doubtsTogether resolves the in-doubt calls of a step.
func (s *actionTest) doubtsTogether() {
	s.Run(s.t, "payment", "1")
	s.Run(s.t, "payment", "2")
	s.recorded("page POST /doubts", "marta", func() {
		shown := s.b.Get("/doubts?plan=payment&node=pay")
		form := webtest.Form(s.t, shown.Body, `name="doubt"`)
		form["doubt"] = nil
		for _, m := range regexp.MustCompile(`name="doubt" value="([^"]+)"`).FindAllStringSubmatch(shown.Body, -1) {
			form.Add("doubt", m[1])
		}
		form.Set("action", "skip")
		if p := s.b.Post("/doubts", form); p.Code != http.StatusOK || len(form["doubt"]) != 2 {
			s.t.Errorf("got status %d, want %d of %d\n%s", p.Code, http.StatusOK, len(form["doubt"]), webtest.Text(p.Body))
		}
	})
}

// verify starts a verification of the audit log. Its result is recorded when it finishes.
func (s *actionTest) verify() {
	done := func() {
		for end := time.Now().Add(time.Minute); strings.Contains(s.b.Get("/audit").Body, "In progress"); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				s.t.Fatal("the verification does not end")
			}
		}
	}
	form := s.b.Get("/audit/verify").Hidden()
	s.recorded("page POST /audit/verify", "marta", func() { s.b.Post("/audit/verify", form); done() })
	s.recorded("POST /audit/check", s.actor, func() {
		resp, err := http.DefaultClient.Do(
			webtest.Request(
				s.t,
				http.MethodPost,
				s.URL+api.Base+"/audit/check",
				"",
				"Content-Type",
				"application/json",
				"Authorization",
				"Bearer "+s.token,
			),
		)
		if err != nil || resp.StatusCode != http.StatusAccepted {
			s.t.Fatal(resp, err)
		}
		resp.Body.Close()
		done()
	})
}

func (s *actionTest) settings() {
	s.verify()
	s.page("/settings/notifications/:channel/test", "/settings/notifications", "/ops/test", "to", "/settings/notifications/ops/test")
	s.api("POST /notifications/{channel}/test", "/notifications/ops/test", "{}")
	s.page("/settings/secrets/:secret/rotate", "/settings/secrets/BANK/rotate", `name="reason"`, "reason", "it leaked")
	s.api("POST /secrets/{name}/rotate", "/secrets/BANK/rotate", map[string]string{"reason": "it leaked"})
	s.page("/settings/retention", "/settings/retention", `action="/settings/retention"`, "reason", "the disk is small")
}

func (s *actionTest) tools() {
	s.ChangeTool(s.t, "something new")
	s.page("/agents/tools/:tool/accept", "/agents/tools/crm.find/accept", `name="digest"`, "reason", "read it")
	s.ChangeTool(s.t, "something newer")
	digest := ""
	list, err := s.Tools.Tools(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, k := range list {
		if k.Change != nil {
			digest = k.Change.Digest
		}
	}
	s.api("POST /tools/{name}/accept", "/tools/crm.find/accept", map[string]string{"digest": digest, "reason": "read it"})
	const try = "/agents/tools/datetime/try"
	checked := s.b.Get(try).Hidden()
	checked.Set("input", `{"at": "now"}`)
	checked = s.b.Post(try, checked).Hidden()
	checked.Set("input", `{"at": "now"}`)
	checked.Set("do", "run")
	s.recorded("page POST /agents/tools/:tool/try", "marta", func() {
		if p := s.b.Post(try, checked); p.Code != http.StatusSeeOther {
			s.t.Errorf("try: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
		}
	})
	s.page("/agents/tools/:tool/disable", "/agents/tools/crm.find/disable", `name="idem"`, "reason", "the customer data are moved")
	s.page("/agents/tools/:tool/enable", "/agents/tools/crm.find/enable", `name="idem"`)
	s.page("/agents/providers/:provider/disable", "/agents/providers/script/disable", `name="idem"`, "reason", "out of quota")
	s.page("/agents/providers/:provider/enable", "/agents/providers/script/enable", `name="idem"`)
	for _, what := range []string{"tools/crm.find", "providers/script"} {
		kind, _, _ := strings.Cut(what, "/")
		s.api("POST /"+kind+"/{name}/disable", "/"+what+"/disable", map[string]any{"reason": "moved"})
		s.api("POST /"+kind+"/{name}/enable", "/"+what+"/enable", map[string]any{"reason": "it is back"})
	}
	s.page("/agents/servers/:server/retry", "/agents/servers/crm/retry", `name="idem"`, "reason", "look again")
	s.api("POST /tool-servers/{name}/retry", "/tool-servers/crm/retry", map[string]string{"reason": "look again"})
}
