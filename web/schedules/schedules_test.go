package schedules_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// shop returns a server with the plan "report", and a logged-in browser.
func shop(t *testing.T) (*webtest.Site, *webtest.Browser) {
	t.Helper()
	site := webtest.New(t)
	site.Plan(t, "id: report\nnodes: {a: {type: set, input: 1}}\n")
	return site, site.Browser(t).Login()
}

func created(t *testing.T, b *webtest.Browser, fields ...string) webtest.Page {
	t.Helper()
	all := append([]string{"key", "nightly", "plan", "report", "cron", "30 2 * * *", "zone", "Europe/Madrid", "overlap", "queue",
		"catchup", "ask", "do", "save"}, fields...)
	return b.Send(t, "/schedules/new", `name="cron"`, all...)
}

// The page of a schedule that its plan declares names the plan, and offers no change of the schedule.
func TestADeclaredSchedule(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	site.Plan(t, "id: daily\nschedule: {cron: \"30 2 * * *\"}\nnodes: {a: {type: set, input: 1}}\n")
	page := b.Get("/schedules/daily")
	webtest.HasTexts(t, page, http.StatusOK, "The plan declares this schedule.", "Pause…", "Backfill…")
	if strings.Contains(page.Body, "/schedules/daily/edit") || strings.Contains(page.Body, "/schedules/daily/delete") {
		t.Error("the page of a declared schedule offers to edit or delete it")
	}
}

// A schedule is created, changed, paused, resumed, and deleted on the dashboard. Its page shows its next
// times and its rules in words.
func TestASchedule(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	webtest.HasTexts(t, b.Get("/schedules"), http.StatusOK, "There is none yet.", "New schedule…")
	webtest.HasTexts(t, created(t, b), http.StatusOK, "Schedule created.", "30 2 * * * · Europe/Madrid", "Next times",
		"waits until the run of the earlier slot has ended", "An operator decides about missed slots.", "No slot was due yet.")
	webtest.HasTexts(t, b.Get("/schedules"), http.StatusOK, "nightly", "report", "active")
	webtest.HasTexts(t, b.Get("/plans/report"), http.StatusOK, `href="/schedules/nightly"`, "/schedules/new?plan=report")
	webtest.HasTexts(t, b.Send(t, "/schedules/nightly/edit", `name="cron"`, "plan", "report", "cron", "@weekly", "overlap", "skip",
		"catchup", "last", "do", "save"), http.StatusOK,
		"Schedule changed.", "@weekly")
	webtest.HasTexts(t, b.Send(t, "/schedules/nightly/pause", `name="reason"`, "reason", "holidays"), http.StatusOK,
		"Schedule paused.", "Paused by marta", "holidays")
	webtest.HasTexts(t, b.Get("/schedules?state=active"), http.StatusOK, "No schedule is active.")
	for path, id := range map[string]string{"/schedules": "schedules", "/schedules/nightly": "schedule"} {
		part := b.Fragment(t, path, id)
		webtest.HasTexts(t, part, http.StatusOK, `id="`+id+`"`, `data-live="runs"`, "nightly", "paused")
		if strings.Contains(part.Body, "<main") {
			t.Errorf("%s: the fragment is the whole page", path)
		}
	}
	webtest.HasTexts(t, b.Get("/schedules?state=paused&q=night"), http.StatusOK, "nightly")
	webtest.HasTexts(t, b.Send(t, "/schedules/nightly/resume", `name="reason"`), http.StatusOK, "Schedule resumed.")
	webtest.HasTexts(t, b.Send(t, "/schedules/nightly/delete", `name="reason"`), http.StatusOK, "Schedule deleted.")
	webtest.HasTexts(t, b.Get("/schedules/nightly"), http.StatusNotFound)
}

// A run is started now with the input and the labels of a schedule.
func TestARunOfAScheduleIsStartedNow(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	page := created(t, b, "input", `{"region": "north"}`, "labels", "team=ops")
	webtest.HasTexts(t, page, http.StatusOK, `href="/runs/new?schedule=nightly"`)
	form := b.Get("/runs/new?schedule=nightly")
	webtest.HasTexts(t, form, http.StatusOK, "With the input and the labels of schedule", `href="/schedules/nightly"`,
		"&#34;region&#34;: &#34;north&#34;", `value="team=ops"`)
	fields := webtest.Form(t, form.Body, `name="version"`)
	fields.Set("input", `{"region": "north"}`)
	if run := b.Post("/plans/report/start", fields); run.Code != http.StatusSeeOther {
		t.Errorf("starting the run: %d", run.Code)
	}
	webtest.HasTexts(t, b.Get("/runs/new?schedule=none"), http.StatusNotFound)
}

// A rejected form keeps the typed values, and shows the reason.
func TestARejectedSchedule(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	for _, bad := range [][3]string{
		{"cron", "61 * * * *", "61"}, {"zone", "Mars/Base", "Mars/Base"}, {"plan", "nothing", "nothing"}, {"input", "{", "JSON"},
		{"jitter", "soon", "soon"}, {"version", "one", "one"}, {"key", "a b", "a b"}, {"labels", "env", "env"},
	} {
		webtest.HasTexts(t, created(t, b, bad[0], bad[1]), http.StatusUnprocessableEntity, `role="alert"`, bad[2], "daily-report")
	}
	webtest.HasTexts(t, created(t, b, "do", "check"), http.StatusOK, "Next times", `value="nightly"`)
}

// Missed slots that wait for a decision are in the inbox. The page shows the consequence of each answer.
func TestMissedSlotsAreDecided(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	created(t, b)
	x, err := site.Store.Schedule(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	missed := domain.MissedSlots{ID: domain.NewID(), First: x.Next, Last: x.Next.AddDate(0, 0, 5), Slots: 6, CreatedAt: x.CreatedAt}
	move := domain.SlotMove{From: x.Next, Next: x.Next.AddDate(0, 0, 6), Due: x.Next.AddDate(0, 0, 6), Missed: &missed}
	if err := site.Store.MoveSchedule(t.Context(), x.ID, move, nil); err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get("/approvals"), http.StatusOK, "6 slots missed", `href="/schedules/nightly/missed"`, "Missed slots · report")
	webtest.HasTexts(t, b.Get("/schedules?state=missed"), http.StatusOK, "6 missed")
	webtest.HasTexts(t, b.Get("/schedules/nightly"), http.StatusOK, "6 slots missed", "Decide…")
	webtest.HasTexts(t, b.Get("/schedules/nightly/missed"), http.StatusOK, "Run none", "1 run starts", "6 runs start, oldest first")
	stale := webtest.Form(t, b.Get("/schedules/nightly/missed").Body, `name="missed"`)
	stale.Set("slots", "5")
	stale.Set("decision", "all")
	webtest.HasTexts(t, b.Post("/schedules/nightly/missed", stale), http.StatusConflict, "More slots were missed meanwhile")
	webtest.HasTexts(t, b.Send(t, "/schedules/nightly/missed", `name="missed"`, "decision", "none"), http.StatusOK,
		"Decision recorded.", "none was run")
	if p := b.Get("/approvals"); strings.Contains(p.Body, "6 slots missed") {
		t.Error("the inbox still lists the missed slots")
	}
}

// A backfill shows the slots that would start runs, and starts only these.
func TestABackfill(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	created(t, b, "cron", "@daily", "zone", "UTC")
	at := func(days int) string {
		return time.Now().UTC().AddDate(0, 0, days).Truncate(24 * time.Hour).Format("2006-01-02T15:04")
	}
	q := "?" + url.Values{"from": {at(-3)}, "to": {at(-1)}}.Encode()
	webtest.HasTexts(t, b.Get("/schedules/nightly/backfill"+q), http.StatusOK, "2 runs start, oldest first", "Run 2 slots")
	webtest.HasTexts(t, b.Get("/schedules/nightly/backfill?from=yesterday"), http.StatusUnprocessableEntity, "yesterday")
	webtest.HasTexts(t, b.Get("/schedules/nightly/backfill?from="+at(2)), http.StatusUnprocessableEntity, `role="alert"`)
	p := b.Send(t, "/schedules/nightly/backfill"+q, `name="slots"`, "reason", "the report was wrong")
	webtest.HasTexts(t, p, http.StatusOK, "nightly")
}
