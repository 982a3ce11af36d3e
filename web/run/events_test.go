package run_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The selected step stays selected in all views.
func TestTheInspectorStaysWhileViewsChange(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	for _, view := range []string{"timeline", "graph", "state", "log", "handoffs", "events", "io"} {
		at := "/runs/" + seed.Failed.ID + "?view=" + view
		if p := b.Get(at + "&step=check"); !strings.Contains(inspected(p.Body), "check") ||
			!strings.Contains(p.Body, "view="+view+"#inspector") {
			t.Errorf("%s: beside it is %q", view, inspected(p.Body))
		}
		if p := b.Get(at); (view == "timeline" || view == "graph") != strings.Contains(p.Body, `id="inspector"`) {
			t.Errorf("%s: a step that nobody chose", view)
		}
	}
}

// The tab shows the number of events in its view.
func TestTheTabCountsTheEvents(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/runs/" + seed.Failed.ID + "/note"
	form := b.Get(path).Hidden()
	form.Set("text", "looked at it")
	webtest.HasTexts(t, b.Post(path, form), http.StatusSeeOther)
	page := b.Get("/runs/" + seed.Failed.ID + "?view=events").Body
	tab := regexp.MustCompile(`(?s)view=events"[^>]*>\s*\S+\s*<span class="c">(\d+)</span>`)
	rows := strings.Count(page[strings.Index(page, "Events of this run"):], `<td class="num">`)
	for _, body := range []string{page, b.Get("/runs/" + seed.Failed.ID).Body, b.Get("/runs/" + seed.Failed.ID + "?view=log").Body} {
		m := tab.FindStringSubmatch(body)
		if m == nil || m[1] != strconv.Itoa(rows) || rows == 0 {
			t.Errorf("the tab counts %q, the view lists %d", m, rows)
		}
	}
}

// The events of a run include what the engine did, what users did, with their names, and the status
// changes, in order.
func TestEventsNameWhoDidWhat(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Waiting
	b := site.Browser(t).Login()
	at := "/runs/" + run.ID
	for _, act := range []domain.ActionRequest{
		{Action: domain.ActionPause, Reason: "the bank is closed"}, {Action: domain.ActionUnpause},
	} {
		act.Run = run.ID
		if _, err := site.Engine.Act(t.Context(), site.Admin, act); err != nil {
			t.Fatal(err)
		}
	}
	form := b.Get(at + "/note").Hidden()
	form.Set("text", "asked Ana")
	webtest.HasTexts(t, b.Post(at+"/note", form), http.StatusSeeOther)
	body := tableText(b.Get(at + "?view=events").Body)
	last := 0
	for _, want := range []string{"created marta", "waits ask approval", "Waiting for approval",
		"paused marta the bank is closed", "Paused", "continued marta", "Waiting for approval", "note marta"} {
		i := strings.Index(body[last:], want)
		if i < 0 {
			t.Fatalf("the events do not say %q after %q\n%s", want, body[:last], body)
		}
		last += i
	}
	if n := strings.Count(body, "paused marta"); n != 1 {
		t.Errorf("the pause is told %d times\n%s", n, body)
	}
	acts := tableText(b.Get(at + "?view=events&kinds=act").Body)
	if strings.Contains(acts, "waits ask") || !strings.Contains(acts, "created marta") {
		t.Errorf("acts alone:\n%s", acts)
	}
}

// tableText returns the text of the list of events, with spaces between cells.
func tableText(body string) string {
	_, rest, _ := strings.Cut(body, `<table class="list">`)
	table, _, _ := strings.Cut(rest, "</table>")
	return webtest.Text(table)
}
