package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
)

// Each action does what its body requests, to the run that the path names, and returns
// the run.
func TestActs(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run, _ := s.world.asking(t)
	pre, err := s.world.Engine.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel})
	if err != nil {
		t.Fatal(err)
	}
	s.world.Engine.Save(`{id: asks, nodes: {ask: {type: approval, input: {message: "go on now?"}}}}`)
	s.world.Engine.Save(`{id: asks, nodes: {ask: {type: approval, input: {message: "really?"}}}}`)
	path, tail := "/runs/"+run.ID, "/runs/"+run.ID[len(run.ID)-8:]
	stale := s.ask(t, "operator", "POST "+path+"/cancel", ``, fmt.Sprintf(`If-Match: "%d"`, pre.Rev+100))
	if stale.status != 409 || stale.json["code"] != "stale" {
		t.Errorf("another revision: %d %s", stale.status, stale.text)
	}
	for _, c := range []struct {
		as, line, body string
		status         int
		text           string
	}{
		{"operator", "POST " + path + "/pause", ``, 200, `"paused":true`},
		{"operator", "POST " + tail + "/unpause", ``, 200, run.ID},
		{"operator", "PATCH " + path, `{"limits":{"maxSteps":9},"reason":"more","labels":{"ticket":"4711"}}`, 200, `"maxSteps":9`},
		{"operator", "PATCH " + path, `{"raise":{"maxSteps":3},"limits":{"maxDuration":"PT1H"}}`, 200, `"maxDurationMs":3600000`},
		{"operator", "PATCH " + path, `{}`, 422, "nothing to change"},
		{"viewer", "GET " + path, ``, 200, `"ticket":"4711"`},
		{"operator", "POST " + path + "/resume", `{"release":true}`, 422, "neither quarantined nor held"},
		{"operator", "POST " + path + "/resume", `{"startNow":true}`, 409, "waits for an approval"},
		{"operator", "POST " + path + "/resume", ``, 409, "waits for an approval"},
		{"operator", "POST " + path + "/cancel?preview=true", ``, 200, `"allowed":true`},
		{"viewer", "POST " + path + "/cancel?preview=true", ``, 200, "requires the role operator"},
		{"viewer", "POST " + path + "/cancel", ``, 403, "operator"},
		{"operator", "DELETE " + path, ``, 409, "cancel it first"},
		{"operator", "POST " + path + "/cancel", `{"reason":"enough"}`, 200, `"status":"cancelled"`},
		{"operator", "POST " + path + "/resume", `{"digest":"other"}`, 409, "stale"},
		{"operator", "POST " + path + "/resume", `{"reason":"r"}`, 200, run.ID},
		{"author", "POST " + path + "/rerun", `{"input":{"a":1},"version":-1,"labels":{"of":"test"}}`, 201, `"version":3}`},
		{"operator", "POST " + path + "/rerun", `{"version":-1}`, 403, "author"},
		{"operator", "POST " + path + "/rerun", `{"version":2}`, 403, "author"},
		{"operator", "POST " + path + "/fork", `{"version":2}`, 403, "author"},
		{"author", "POST " + path + "/fork", `{"version":2}`, 201, `"version":2}`},
		{"operator", "POST " + path + "/fork", `{"seq":99}`, 422, "99"},
		{"operator", "POST " + path + "/nodes/ask/resolve",
			`{"visit":1,"attempt":2,"action":"happened","output":{"id":7},"reason":"seen"}`, 409, "not in doubt"},
		{"operator", "POST /runs/zzzzzzzz/cancel", ``, 404, "not_found"},
		{"viewer", "PATCH " + path + "?preview=true", `{"labels":{"team":"red"}}`, 200, `"action":"label"`},
		{"viewer", "PATCH " + path + "?preview=true", `{"raise":{"maxSteps":5}}`, 200, `"action":"limits"`},
		{"viewer", "PATCH " + path + "?preview=true", `{}`, 422, "nothing to change"},
		{"operator", "PATCH " + path, `{"labels":{"team":"red"}}`, 200, `"team":"red"`},
		{"operator", "POST " + path + "/cancel", ``, 200, `"status":"cancelled"`},
		{"operator", "DELETE " + path + "?reason=old", ``, 200, `"deletedAt"`},
		{"operator", "DELETE " + path, ``, 200, `"deletedAt"`}, // the same request again
	} {
		a := s.ask(t, c.as, c.line, c.body)
		if a.status != c.status || !strings.Contains(a.text, c.text) {
			t.Errorf("%s %s returned %d %s, want %d with %s", c.line, c.body, a.status, a.text, c.status, c.text)
			continue
		}
		if a.status == 201 {
			made, err := s.world.Store.Run(t.Context(), a.json["id"].(string))
			if err != nil || made.RerunOf != run.ID && made.ForkedFrom != run.ID || a.header.Get("Location") != api.Base+"/runs/"+made.ID {
				t.Errorf("%s made %+v, %v, at %s", c.line, made, err, a.header.Get("Location"))
			}
			if strings.HasSuffix(c.line, "/rerun") && (string(made.Input) != `{"a":1}` || made.Labels["of"] != "test") {
				t.Errorf("%s made a run with %s and %v", c.line, made.Input, made.Labels)
			}
			s.world.Engine.Until(made.ID, domain.RunWaiting, domain.WaitApproval)
		}
		if strings.HasSuffix(c.line, "/resume") && a.status == 200 {
			s.world.Engine.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
		}
	}
	list, err := s.world.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: "run.cancel", Run: run.ID})
	if err != nil || len(list.Items) != 2 || list.Items[1].Reason != "enough" || list.Items[1].Actor != "token operator" {
		t.Errorf("audited: %+v %v", list.Items, err)
	}
}

// unready is a store that fails to look up a run.
type unready struct {
	*store.Store
	err error
}

func (u unready) FindRun(context.Context, string) (domain.Run, error) { return domain.Run{}, u.err }

func TestFailuresOfAnOperation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{domain.Errorf(domain.CodeConflict, "the run has changed").Suggest("read it again"), 409, "read it again"},
		{domain.Errorf(domain.CodeNotResumable, "it cannot be resumed").Suggest("fork it"), 409, "not_resumable"},
		{domain.Errorf(domain.CodeStale, "the preview is outdated"), 409, "stale"},
		{domain.Errorf(domain.CodeNoSpace, "the disk is full"), 507, "no_space"},
		{domain.Errorf(domain.CodeUnavailable, "stopping"), 503, "unavailable"},
		{fmt.Errorf("act: %w", domain.Errorf(domain.CodeForbidden, "not yours")), 403, "not yours"},
		{errors.New("sqlite: secret path /var/lib"), 500, "errorId"},
		{domain.Errorf(domain.CodeCorrupt, "journal row 5 of /var/lib"), 500, "doctor"},
	} {
		s := serve(t, func(conf *api.Config) {
			w := conf.Reader.(*fake)
			of := w.Config
			of.Store = unready{w.Store, c.err}
			conf.App = app.New(of)
		})
		a := s.ask(t, "operator", "POST /runs/"+s.world.runs[0].ID+"/resume", "")
		if a.status != c.status || !strings.Contains(a.text, c.text) {
			t.Errorf("%v returned %d %s", c.err, a.status, a.text)
		}
		if strings.Contains(a.text, "/var/lib") {
			t.Errorf("S32: the response contains internal details: %s", a.text)
		}
		if id, ok := a.json["errorId"].(string); ok && !strings.Contains(s.log.String(), id) {
			t.Errorf("the log does not contain %s", id)
		}
	}
}
