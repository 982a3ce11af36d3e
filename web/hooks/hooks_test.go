package hooks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// shop returns a server with the plan "release", and a logged-in browser.
func shop(t *testing.T) (*webtest.Site, *webtest.Browser) {
	t.Helper()
	site := webtest.New(t)
	site.Plan(t, "id: release\nnodes: {a: {type: set, input: 1}}\n")
	return site, site.Browser(t).Login()
}

func created(t *testing.T, b *webtest.Browser, fields ...string) webtest.Page {
	t.Helper()
	all := append([]string{"key", "releases", "plan", "release", "scheme", "github", "secret", "GITHUB"}, fields...)
	return b.Send(t, "/events/hooks/new", `name="secret"`, all...)
}

// deliver stores a delivery to the hook "releases" that arrived some minutes ago.
func deliver(t *testing.T, site *webtest.Site, minutes int, change func(*domain.HookDelivery)) domain.HookDelivery {
	t.Helper()
	x, err := site.Store.Hook(t.Context(), "releases")
	if err != nil {
		t.Fatal(err)
	}
	d := domain.HookDelivery{ID: domain.NewID(), HookID: x.ID, State: domain.DeliveryRefused, Reason: "hook.expression", Verified: true,
		Message: "input: no such key: tag", Body: `{"tag": "v1"}`, Headers: map[string]string{"x-github-event": "release"},
		Remote: "192.0.2.7", ReceivedAt: time.Now().Add(time.Duration(-minutes) * time.Minute)}
	d.Key, d.Event = d.ID, "event-"+d.ID
	if change != nil {
		change(&d)
	}
	if err := site.Store.RecordDelivery(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A hook is created, changed, paused, resumed, and deleted on the dashboard. Its page shows its address.
func TestAHook(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	webtest.HasTexts(t, b.Get("/events/hooks"), http.StatusOK, "There is none yet.", "New hook…")
	webtest.HasTexts(t, created(t, b), http.StatusOK, "Hook created.", site.URL+"/hooks/releases", "release · current version", "GITHUB",
		"No delivery has arrived yet.", "all events", "20 deliveries per second")
	webtest.HasTexts(t, b.Get("/events/hooks"), http.StatusOK, "releases", "github", "active")
	webtest.HasTexts(t, b.Get("/plans"), http.StatusOK, `href="/events/hooks"`)
	webtest.HasTexts(t, b.Send(t, "/events/hooks/releases/edit", `name="secret"`, "scheme", "github", "secret", "GITHUB",
		"signal", "'r.' + body.tag", "signalKey", "id"), http.StatusOK, "Hook changed.", "&#39;r.&#39; + body.tag", "Key of the signal")
	webtest.HasTexts(t, b.Send(t, "/events/hooks/releases/pause", `name="reason"`, "reason", "holidays"), http.StatusOK,
		"Hook paused.", "Paused by marta", "holidays")
	webtest.HasTexts(t, b.Send(t, "/events/hooks/releases/resume", `name="reason"`), http.StatusOK, "Hook resumed.")
	webtest.HasTexts(t, b.Send(t, "/events/hooks/releases/delete", `name="reason"`), http.StatusOK, "Hook deleted.")
	webtest.HasTexts(t, b.Get("/events/hooks/releases"), http.StatusNotFound)
}

// E13: a rejected form keeps the typed values, and shows the reason.
func TestARejectedHook(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	for _, bad := range [][3]string{
		{"key", "a/b", "a/b"}, {"plan", "nothing", "nothing"}, {"plan", "", "a plan or sends a signal"}, {"scheme", "rot13", "rot13"},
		{"secret", " ", "needs a secret"}, {"filter", "body.", "filter"}, {"input", "secret", "input"}, {"version", "one", "one"},
		{"version", "-1", "-1"}, {"version", "9", "no version 9"}, {"labels", "env", "env"}, {"signal", "'x'", "a plan or sends a signal"},
	} {
		webtest.HasTexts(t, created(t, b, bad[0], bad[1]), http.StatusUnprocessableEntity, `role="alert"`, bad[2], "New hook")
	}
	created(t, b)
	webtest.HasTexts(t, created(t, b), http.StatusUnprocessableEntity, `role="alert"`, "exists")
	stale := webtest.Form(t, b.Get("/events/hooks/releases/edit").Body, `name="secret"`)
	edit := []string{"plan", "release", "scheme", "github", "secret", "GITHUB", "filter", "true"}
	webtest.HasTexts(t, b.Send(t, "/events/hooks/releases/edit", `name="secret"`, edit...), http.StatusOK, "Hook changed.")
	for i := 0; i+1 < len(edit); i += 2 {
		stale.Set(edit[i], edit[i+1])
	}
	stale.Set("filter", "false")
	webtest.HasTexts(t, b.Post("/events/hooks/releases/edit", stale), http.StatusUnprocessableEntity, "has changed", "false")
}

// A hook for files shows its pattern, and deliveries without a sender.
func TestAHookForFiles(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	for _, bad := range [][3]string{{"files", "/etc/*", "hooks.directories"}, {"settle", "soon", "soon"}, {"settle", "2h", "2h0m0s"}} {
		webtest.HasTexts(t, created(t, b, "scheme", "files", "files", "/srv/in/*.csv", bad[0], bad[1]), http.StatusUnprocessableEntity,
			`role="alert"`, bad[2], "New hook")
	}
	p := created(t, b, "scheme", "files", "files", "/srv/in/*.csv", "settle", "2s")
	webtest.HasTexts(t, p, http.StatusOK, "Hook created.", "/srv/in/*.csv", "unchanged for 2s", "10,000 files")
	if strings.Contains(p.Body, site.URL+"/hooks/releases") || strings.Contains(p.Body, "GITHUB") {
		t.Error("a hook for files has an address or a secret")
	}
	webtest.HasTexts(t, b.Get("/events/hooks"), http.StatusOK, "releases", "files")
	webtest.HasTexts(t, b.Send(t, "/events/hooks/releases/pause", `name="reason"`), http.StatusOK, "files wait")
	webtest.HasTexts(t, b.Get("/events/hooks/releases/edit"), http.StatusOK, `value="/srv/in/*.csv"`, `value="2s"`)
	problem := deliver(t, site, 1, func(d *domain.HookDelivery) {
		d.Reason, d.Message, d.Remote, d.Verified, d.Body = "hook.files", "the files cannot be listed", "", false, ""
	})
	shown := b.Get("/events/deliveries/" + problem.ID)
	webtest.HasTexts(t, shown, http.StatusOK, "the files cannot be listed")
	if strings.Contains(shown.Body, "Verified") || strings.Contains(shown.Body, "Sender") {
		t.Error("a problem with files shows a sender")
	}
}

// The page of a hook lists its deliveries, selects them by outcome, and continues on a second page. The page
// of a delivery shows its headers and its body, and the page of a run links to its delivery.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	created(t, b)
	run := site.Run(t, "release", "null")
	bad := deliver(t, site, 3, nil)
	good := deliver(t, site, 2, func(d *domain.HookDelivery) {
		d.State, d.Reason, d.Message, d.Run = domain.DeliveryAccepted, "", "", run.ID
	})
	forged := deliver(t, site, 1, func(d *domain.HookDelivery) { d.Reason, d.Verified, d.Body = "hook.signature", false, "" })
	webtest.HasTexts(t, b.Get("/events/hooks"), http.StatusOK, "Last delivery", "refused", "The sender is not verified.")
	all := b.Get("/events/hooks/releases?choose=1")
	webtest.HasTexts(t, all, http.StatusOK, "/events/deliveries/"+bad.ID, "/events/deliveries/"+good.ID, "/events/deliveries/"+forged.ID,
		"no such key", "/runs/"+run.ID, `value="`+bad.ID+`"`)
	if strings.Contains(all.Body, `value="`+forged.ID+`"`) {
		t.Error("a delivery of an unverified sender can be chosen")
	}
	accepted := b.Get("/events/hooks/releases?status=accepted")
	webtest.HasTexts(t, accepted, http.StatusOK, "/events/deliveries/"+good.ID)
	if strings.Contains(accepted.Body, "/events/deliveries/"+bad.ID) {
		t.Error("the list of accepted deliveries has a refused one")
	}
	webtest.HasTexts(t, b.Get("/events/hooks/releases?status=duplicate"), http.StatusOK, "No delivery was a duplicate.")
	first := b.Get("/events/hooks/releases?n=1")
	webtest.HasTexts(t, first, http.StatusOK, "/events/deliveries/"+forged.ID, "Older deliveries")
	webtest.HasTexts(t, b.Get("/events/hooks/releases?after=x"), http.StatusUnprocessableEntity, "first page")
	webtest.HasTexts(t, b.Get("/events/deliveries/"+good.ID), http.StatusOK, "accepted", "192.0.2.7", "x-github-event", "v1",
		"/runs/"+run.ID, "event-"+good.ID, "Replay…")
	webtest.HasTexts(t, b.Get("/events/deliveries/"+bad.ID), http.StatusOK, "no such key: tag", "hook.expression")
	webtest.HasTexts(t, b.Get("/events/deliveries/"+forged.ID), http.StatusOK, "The sender is not verified.",
		"only if the sender was verified")
	webtest.HasTexts(t, b.Get("/events/deliveries/none"), http.StatusNotFound)
}

// The list of hooks, the head of a hook, and its deliveries are reloaded after events. While deliveries are
// chosen, their list stays.
func TestHooksAreLive(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	created(t, b)
	deliver(t, site, 1, nil)
	for id, want := range map[string]string{"hook": "GITHUB", "hook-deliveries": "no such key: tag"} {
		part := b.Fragment(t, "/events/hooks/releases", id)
		webtest.HasTexts(t, part, http.StatusOK, `id="`+id+`"`, `data-live="runs"`, want)
		if strings.Contains(part.Body, "<main") {
			t.Errorf("%s is the whole page", id)
		}
	}
	webtest.HasTexts(t, b.Fragment(t, "/events/hooks", "hooks"), http.StatusOK, "releases", "refused")
	if choosing := b.Get("/events/hooks/releases?choose=1"); strings.Contains(choosing.Body, `id="hook-deliveries"`) {
		t.Error("the list is reloaded while deliveries are chosen")
	}
}

// A replay of chosen or of selected deliveries is a bulk operation, which is previewed.
func TestAReplay(t *testing.T) {
	t.Parallel()
	site, b := shop(t)
	created(t, b)
	webtest.HasTexts(t, b.Get("/events/hooks/releases/replay"), http.StatusOK, "No delivery is selected.")
	one := deliver(t, site, 9, nil)
	two := deliver(t, site, 5, nil)
	webtest.HasTexts(t, b.Get("/events/hooks/releases/replay"), http.StatusOK, "2 deliveries are replayed, oldest first",
		"Replay 2 deliveries")
	since := time.Now().UTC().Add(-7 * time.Minute).Format("2006-01-02T15:04")
	webtest.HasTexts(t, b.Get("/events/hooks/releases/replay?since="+since), http.StatusOK, "1 delivery is replayed", "Replay 1 delivery")
	for _, bad := range []string{"?since=yesterday", "?status=duplicate", "?status=odd", "?delivery=none", "?rate=fast"} {
		p := b.Get("/events/hooks/releases/replay" + bad)
		if p.Code != http.StatusUnprocessableEntity && p.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", bad, p.Code)
		}
	}
	stale := webtest.Form(t, b.Get("/events/hooks/releases/replay").Body, `name="digest"`)
	deliver(t, site, 1, nil)
	webtest.HasTexts(t, b.Post("/events/hooks/releases/replay", stale), http.StatusConflict, "have changed since the preview",
		"3 deliveries are replayed")
	q := url.Values{"delivery": {one.ID, two.ID}}
	chosen := webtest.Form(t, b.Get("/events/hooks/releases/replay?"+q.Encode()).Body, `name="digest"`)
	chosen["delivery"] = []string{one.ID, two.ID}
	chosen.Set("reason", "the expression was wrong")
	p := b.Post("/events/hooks/releases/replay", chosen)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Header.Get("Location"), "/bulk/") {
		t.Fatalf("replay: %d %s", p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(p.Header.Get("Location")), http.StatusOK, "the expression was wrong", "/events/deliveries/"+one.ID)
}
