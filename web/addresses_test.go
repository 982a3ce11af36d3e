package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/webtest"
)

// Addresses that people type redirect to the right pages, and an address with .json appended
// redirects to the JSON view.
func TestAddressesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	run := "/runs/" + seed.Completed.ID
	if _, err := site.App.Views.Save(t.Context(), app.ViewChange{Meta: app.Meta{By: site.Admin}, Name: "my failures",
		Query: "status:failed plan:ledger"}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		run + "/log":               run + "?view=log",
		run + "/state":             run + "?view=state",
		run + "/state/2":           run + "?cp=2&view=state",
		run + "/state/2?against=1": run + "?against=1&cp=2&view=state",
		"/plans/ledger/versions":   "/plans/ledger",
		"/plans/ledger/v/1.yaml":   "/plans/ledger/v/1/source",
		"/plans/ledger/diff/1..2":  "/plans/ledger/diff/1/2",
		"/runs?view=my+failures":   "/runs?q=" + url.QueryEscape("status:failed plan:ledger"),
	} {
		if p := b.Get(path); p.Code != http.StatusSeeOther || p.Location != want {
			t.Errorf("%s: got status %d, want %d: %s, want %s", path, p.Code, http.StatusSeeOther, p.Location, want)
		}
	}
	for _, path := range []string{run + "/state/x", run + "/state/999.json", "/plans/ledger/diff/1", "/runs?view=nobody%27s",
		run + "/steps/999"} {
		if p := b.Get(path); p.Code != http.StatusNotFound {
			t.Errorf("%s: got status %d, want %d", path, p.Code, http.StatusNotFound)
		}
	}
	read := func(path string, into any) {
		t.Helper()
		p := b.Get(path)
		if err := json.Unmarshal([]byte(p.Body), into); p.Code != http.StatusOK || err != nil {
			t.Fatalf("%s: got status %d, want %d: %v\n%s", path, p.Code, http.StatusOK, err, p.Body)
		}
	}
	var state struct {
		Checkpoint int64
		Output     map[string]json.RawMessage
	}
	rows, err := site.Store.JournalPage(t.Context(), seed.Completed.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := rows[len(rows)-1].Seq
	read(run+"/state/0.json", &state)
	if len(state.Output) != 0 {
		t.Errorf("output before any step ran: %v", state.Output)
	}
	read(run+"/state/"+formatInt(last)+".json", &state)
	if string(state.Output["square"]) != "[1,4,9]" || string(state.Output["end"]) != `{"squares":[1,4,9]}` || state.Checkpoint != last {
		t.Errorf("output of the completed run: %s", state.Output)
	}
	var step struct {
		Node string
		Rows []struct{ Node string }
	}
	for _, r := range rows {
		if r.Node != "" {
			read("/api/v1"+run+"/steps/"+formatInt(r.Seq), &step)
			if step.Node != r.Node || len(step.Rows) == 0 || step.Rows[0].Node != r.Node {
				t.Errorf("row %d of %s: %+v", r.Seq, r.Node, step)
			}
		}
	}
	if p := b.Get(run + "/steps/" + formatInt(last)); !strings.Contains(p.Body, `href="/api/v1`+run+"/steps/"+formatInt(last)+`"`) {
		t.Error("the page of a step does not link to its data")
	}
	fork, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: seed.Completed.ID, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	var related struct{ Items []struct{ ID string } }
	read("/api/v1/runs?related="+seed.Completed.ID, &related)
	if len(related.Items) != 1 || related.Items[0].ID != fork.ID {
		t.Errorf("got lineage %+v, want %s", related, fork.ID)
	}
	var compared map[string]any
	read("/api/v1/run-comparison?a="+seed.Completed.ID+"&b="+fork.ID, &compared)
	lines := strings.Split(strings.TrimSpace(b.Get("/runs/"+seed.Failed.ID+"/log.jsonl").Body), "\n")
	for _, l := range lines {
		if l != "" && !json.Valid([]byte(l)) {
			t.Errorf("%q is not JSON", l)
		}
	}
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// Only a file under the current hash is cached forever. A file under another hash is not, because
// the other version may be installed again.
func TestFilesAreKeptUnderTheirOwnHash(t *testing.T) {
	t.Parallel()
	b := webtest.New(t).Browser(t)
	if c := b.Get(static.Path("k.css")).Header.Get("Cache-Control"); !strings.Contains(c, "immutable") {
		t.Errorf("a file of this version: %q", c)
	}
	if p := b.Get("/static/000000000000/k.css"); p.Code != http.StatusOK || p.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a file of another version: got status %d, want %d: %q", p.Code, http.StatusOK, p.Header.Get("Cache-Control"))
	}
}

// disconnectingReader is a store whose Runs fails after the client has disconnected.
type disconnectingReader struct {
	web.Reader
	leave func()
}

func (l disconnectingReader) Runs(context.Context, domain.RunFilter) (domain.List[domain.Run], error) {
	l.leave()
	return domain.List[domain.Run]{}, errors.New("row 7 cannot be read")
}

// A canceled request is not logged as a failure. A failed request with a waiting client is.
func TestACancelledRequestIsNotAFailure(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	for _, gone := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		leave := func() {}
		if gone {
			leave = cancel
		}
		config := site.Web
		config.Hosts, config.Reader, config.Logger = nil, disconnectingReader{site.Store, leave}, slog.New(slog.NewTextHandler(&log, nil))
		s, err := web.New(config)
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/runs?q=status:failed", nil)
		for _, c := range b.Cookies() {
			req.AddCookie(c)
		}
		s.ServeHTTP(httptest.NewRecorder(), req)
		if said := strings.Contains(log.String(), "page failed"); said == gone {
			t.Errorf("gone: %t, log: %s", gone, log.String())
		}
		s.Close()
		cancel()
	}
}
