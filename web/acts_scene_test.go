package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// actionTest is a server on which the test performs actions and then checks the audit log.
type actionTest struct {
	*webtest.Site
	t     *testing.T
	b     *webtest.Browser
	token string
	actor string // name of the actor behind token
	done  map[string]bool
}

// recorded performs an action and checks that the audit log contains it with its actor.
func (s *actionTest) recorded(route, by string, act func()) {
	s.t.Helper()
	s.done[route] = true
	before, err := s.Store.LastEvent(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	act()
	events, err := s.Store.EventsAfter(s.t.Context(), before, "", 500)
	if err != nil {
		s.t.Fatal(err)
	}
	var seen []string
	for _, e := range events {
		if e.Actor == by && e.Result != "denied" && e.Result != "failed" {
			return
		}
		seen = append(seen, e.Actor+" "+e.Action+" "+e.Result)
	}
	s.t.Errorf("%s: the audit log has no event by %s, only %q", route, by, seen)
}

// page submits the form that contains mark on the page open.
func (s *actionTest) page(route, open, mark string, fields ...string) webtest.Page {
	s.t.Helper()
	var p webtest.Page
	shown := s.b.Get(open)
	if shown.Code != http.StatusOK || !strings.Contains(shown.Body, mark) {
		s.t.Errorf("%s: status %d, and no form with %s: %s", open, shown.Code, mark, webtest.Text(shown.Body))
		return p
	}
	f := webtest.Form(s.t, shown.Body, mark)
	to := strings.TrimPrefix(open, "")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "to" {
			to = fields[i+1]
			continue
		}
		f.Set(fields[i], fields[i+1])
	}
	to, _, _ = strings.Cut(to, "?")
	s.recorded("page POST "+route, "marta", func() {
		if p = s.b.Post(to, f); p.Code != http.StatusSeeOther && p.Code != http.StatusOK {
			s.t.Errorf("POST %s: got status %d, want %d\n%s", to, p.Code, http.StatusSeeOther, webtest.Text(p.Body))
		}
	})
	return p
}

// api performs an action through the API.
func (s *actionTest) api(route, path string, body any) map[string]any {
	s.t.Helper()
	method, _, _ := strings.Cut(route, " ")
	var out map[string]any
	s.recorded(route, s.actor, func() {
		b, err := json.Marshal(body)
		if text, ok := body.(string); ok {
			b, err = []byte(text), nil
		}
		if err != nil {
			s.t.Fatal(err)
		}
		kind := "application/json"
		if route == "POST /plans" {
			kind = "application/yaml"
		}
		req := webtest.Request(s.t, method, s.URL+api.Base+path, string(b), "Content-Type", kind, "Authorization", "Bearer "+s.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			s.t.Errorf("%s %s: status %d %s %v", method, path, resp.StatusCode, text, err)
			return
		}
		_ = json.Unmarshal(text, &out) // some responses have no body
	})
	return out
}

func (s *actionTest) failed() string {
	return s.Run(s.t, "ledger", `{"amount": 50, "currency": "EUR"}`).ID
}
func (s *actionTest) waiting() string { return s.Run(s.t, "refund", "null").ID }

// retrying starts a run and waits until it waits for its second attempt.
func (s *actionTest) retrying() string {
	s.t.Helper()
	r, err := s.Engine.Start(s.t.Context(), s.Admin, domain.StartRequest{Plan: "later"})
	if err != nil {
		s.t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); r.WaitReason != domain.WaitRetry; <-tick.C {
		if r, err = s.Store.FindRun(s.t.Context(), r.ID); err != nil || time.Now().After(end) {
			s.t.Fatal(r.Status, err)
		}
	}
	return r.ID
}

// undo undoes one run on its page, and one through the API.
func (s *actionTest) undo() {
	s.t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.t.Cleanup(shop.Close)
	call := `{method: POST, url: "` + shop.URL + `/%s"}`
	s.Plan(s.t, "id: shop\nnodes:\n  buy: {type: http, input: "+fmt.Sprintf(call, "buy")+", undo: {tool: http, input: "+
		fmt.Sprintf(call, "return")+"}}\n")
	s.page("/runs/:run/:action", "/runs/"+s.Run(s.t, "shop", "null").ID+"/undo", `name="idem"`, "do", "act", "reason", "why not")
	run := s.Run(s.t, "shop", "null").ID
	p, err := s.Engine.Preview(s.t.Context(), s.Admin, domain.ActionRequest{Run: run, Action: domain.ActionUndo})
	if err != nil || len(p.Undo) != 1 {
		s.t.Fatal(p, err)
	}
	s.api("POST /runs/{id}/undo", "/runs/"+run+"/undo", map[string]string{"reason": "why not", "digest": p.Digest})
}

// scheduled starts a run that begins in an hour.
func (s *actionTest) scheduled() string {
	s.t.Helper()
	r, err := s.Engine.Start(s.t.Context(), s.Admin, domain.StartRequest{Plan: "report", StartAt: time.Now().Add(time.Hour)})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.ID
}

func (s *actionTest) approval() string {
	s.t.Helper()
	list, err := s.Store.Approvals(s.t.Context(), domain.ApprovalFilter{Run: s.waiting()})
	if err != nil || len(list.Items) != 1 {
		s.t.Fatal(list, err)
	}
	return list.Items[0].ID
}
