package run_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// button finds the button of a one-click action, and returns its address and form values.
func button(t *testing.T, b *webtest.Browser, path, id string) (to string, form url.Values) {
	t.Helper()
	p := b.Get(path)
	m := regexp.MustCompile(`<button[^>]* form="once-` + id + `" name="([^"]+)" value="([^"]*)"`).FindStringSubmatch(p.Body)
	_, once, found := strings.Cut(p.Body, `<form id="once-`+id+`"`)
	if m == nil || !found {
		t.Fatalf("%s has no button to %s: %s", path, id, webtest.Text(p.Body))
	}
	once, _, _ = strings.Cut(once, "</form>")
	_, to, _ = strings.Cut(once, ` action="`)
	to, _, _ = strings.Cut(to, `"`)
	form = webtest.Page{Body: once}.Hidden()
	if form.Get("csrf") == "" || form.Get("idem") == "" {
		t.Fatalf("%s: the form of its button has %v", path, form)
	}
	form.Set(m[1], html.UnescapeString(m[2]))
	return html.UnescapeString(to), form
}

// A run is paused and resumed with one click, and the view remains, even if the run has progressed
// since the page was rendered. A second click has no effect. If the run has ended, the action is
// refused with the reason.
func TestARunIsPausedAtOneClick(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Waiting
	b := site.Browser(t).Login()
	at, view := "/runs/"+run.ID, "/runs/"+run.ID+"?view=events"
	to, form := button(t, b, view, "pause")
	form.Set("rev", "1") // the page is out of date
	for range 2 {
		if p := b.Post(to, form); p.Code != http.StatusSeeOther || p.Location != view {
			t.Fatalf("pausing leads to %q: %d %s", p.Location, p.Code, webtest.Text(p.Body))
		}
	}
	webtest.HasTexts(t, b.Get(view), http.StatusOK, `id="done"`, "it stops after the running step")
	if now, err := site.Store.FindRun(t.Context(), run.ID); err != nil || !now.Paused {
		t.Fatalf("the run is not paused: %v", err)
	}
	to, form = button(t, b, at, "unpause")
	if p := b.Post(to, form); p.Location != at {
		t.Errorf("continuing leads to %q: %d", p.Location, p.Code)
	}
	webtest.HasTexts(t, b.Get(at), http.StatusOK, `id="done"`, "Run continued.")
	if now, err := site.Store.FindRun(t.Context(), run.ID); err != nil || now.Paused {
		t.Errorf("the run is still paused: %v", err)
	}
	_, form = button(t, b, at, "pause")
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel}); err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Post(at+"/pause", form), http.StatusConflict, "the run is cancelled")
}

// One dialog acknowledges a failed run, or only adds a note. Home acknowledges failure groups. Each
// page confirms the action.
func TestAFailureIsAcknowledgedInOneDialog(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	at := "/runs/" + seed.Failed.ID
	if p := b.Get(at); strings.Count(p.Body, `href="`+at+`/ack"`) != 1 || strings.Contains(p.Body, `href="`+at+`/note"`) {
		t.Errorf("the run does not offer one dialog: %s", webtest.Text(p.Body))
	}
	form := b.Get(at + "/ack").Hidden()
	form.Set("do", "note")
	webtest.HasTexts(t, b.Post(at+"/ack", form), http.StatusUnprocessableEntity, "Only keep the note")
	form = b.Get(at + "/ack").Hidden()
	form.Set("do", "note")
	form.Set("note", "waiting for quota")
	if p := b.Post(at+"/ack", form); p.Location != at {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(at), http.StatusOK, `id="done"`, "The note is kept with the run.", "waiting for quota")
	if now, err := site.Store.FindRun(t.Context(), seed.Failed.ID); err != nil || !now.Attention {
		t.Errorf("a note acknowledged it: %v", err)
	}
	if p := b.Post(at+"/ack", b.Get(at+"/ack").Hidden()); p.Location != at {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(at), http.StatusOK, `id="done"`, "Run acknowledged.")
	if now, err := site.Store.FindRun(t.Context(), seed.Failed.ID); err != nil || now.Attention {
		t.Errorf("it still needs attention: %v", err)
	}
	if p := b.Get(at); strings.Contains(p.Body, `href="`+at+`/ack"`) || !strings.Contains(p.Body, `href="`+at+`/note"`) {
		t.Error("it can be acknowledged twice, or takes no note any more")
	}
	if p := b.Post(at+"/unack", b.Get(at+"/unack").Hidden()); p.Location != at {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(at), http.StatusOK, `id="done"`, "The run needs attention again.", `href="`+at+`/ack"`)
	if p := b.Post(at+"/ack", b.Get(at+"/ack").Hidden()); p.Location != at {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	again := site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	_, link, _ := strings.Cut(b.Get("/").Body, `href="/failures/ack?code=`)
	link, _, _ = strings.Cut(link, `"`)
	form = b.Get("/failures/ack?code=" + html.UnescapeString(link)).Hidden()
	if p := b.Post("/failures/ack", form); p.Location != "/" {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, `id="done"`, "Failure acknowledged.")
	if now, err := site.Store.FindRun(t.Context(), again.ID); err != nil || now.Attention {
		t.Errorf("its like still needs attention: %v", err)
	}
}

// A plan is paused and resumed with one click.
func TestAPlanIsPausedAtOneClick(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: flood\nnodes: {a: {type: set, input: \"${input}\"}}\n")
	b := site.Browser(t).Login()
	const at = "/plans/flood"
	for _, act := range []struct{ do, says string }{{"pause", "Plan paused. Active runs will finish."},
		{"unpause", "Runs of the plan start again."}} {
		to, form := button(t, b, at, "pause")
		if form.Get("do") != act.do {
			t.Fatalf("the button is to %s, not to %s", form.Get("do"), act.do)
		}
		if p := b.Post(to, form); p.Location != at {
			t.Fatalf("%s: %d %s", act.do, p.Code, webtest.Text(p.Body))
		}
		webtest.HasTexts(t, b.Get(at), http.StatusOK, `id="done"`, act.says)
	}
}
