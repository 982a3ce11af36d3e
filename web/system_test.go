package web_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// After a restore every page says that nothing is executed, and why; the System
// page lets an operator release it.
func TestAHoldIsSaidEverywhereAndReleasedByForm(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, "id: one\nnodes:\n  a: {type: set, input: 1}\n")
	run := storetest.Run(t, s, v, "")
	backup := filepath.Join(t.TempDir(), "b.db")
	if _, err := s.Backup(t.Context(), backup, "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := store.Restore(t.Context(), backup, path, store.RestoreOptions{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	site := webtest.NewOn(t, storetest.OpenAt(t, path))
	site.System.Set(kairos.Installation{Hold: &r.Hold, Held: 1, Version: "test", Started: time.Now(), Plans: []kairos.PlanStorage{{Plan: "one", Runs: 1, Bytes: 3 << 20}},
		Backups: []kairos.Backup{{Path: backup, Bytes: 5 << 20, Created: time.Now(), Rows: map[string]int64{"runs": 1}}}, Retention: []string{"all plans: <b>"}},
		kairos.Notice{Bad: true, Text: "Nothing is executed.", Href: "/system", Act: "Look and release"})
	b := site.Browser(t).Login()
	for _, page := range []string{"/", "/runs", "/plans", "/audit"} {
		if p := b.Get(page); !strings.Contains(p.Body, "Nothing is executed.") || !strings.Contains(p.Body, `href="/system"`) {
			t.Errorf("%s does not say it", page)
		}
	}
	p := b.Get("/system")
	for _, want := range []string{"restored from b.db", "1 run is held", "Release all held runs", "3.0 MiB", "5.0 MiB", "all plans: &lt;b&gt;", "Back up now"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	form := p.Hidden()
	form.Set("reason", "looked at it")
	if p := b.Post("/system/release", form); p.Code != http.StatusSeeOther && p.Code != http.StatusOK {
		t.Fatalf("release: %d %s", p.Code, p.Body)
	}
	got, err := site.Engine.WaitFor(t.Context(), run.ID, func(r kairos.Run) bool { return r.Status == kairos.RunCompleted })
	if err != nil {
		t.Errorf("the run is %s %s: %v", got.Status, got.WaitReason, err)
	}
	again := b.Get("/system").Hidden()
	if p := b.Post("/system/release", again); p.Code != http.StatusConflict {
		t.Errorf("releasing nothing: %d", p.Code)
	}
	if p := b.Post("/system/backup", url.Values{"csrf": again["csrf"], "idem": {"x"}}); p.Code >= 400 || site.System.Backups() != 1 {
		t.Errorf("backup: %d, %d made", p.Code, site.System.Backups())
	}
}

// The vital lines say what is too high and what to do; maintenance is begun and
// ended by form, by an operator.
func TestVitalLinesAndMaintenance(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.System.Set(kairos.Installation{Version: "test", Started: time.Now(), Starts: 4, UncleanStarts: 2, BackupDir: "/backups", Storage: kairos.Storage{WAL: 300 << 20}})
	b := site.Browser(t).Login()
	p := b.Get("/system")
	for _, want := range []string{"p50 900 µs", "12, the oldest for 2 min", "3.00 GiB a day, full in 9 d", "4, 2 after a crash", "300.0 MiB", "there is none", "Set backup.every", "raise engine.max_running",
		`<polyline points="0.0,`, `href="/metrics"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	form := p.Hidden()
	form.Set("on", "true")
	form.Set("reason", "the <ERP> is down")
	if p := b.Post("/system/maintenance", form); p.Code != http.StatusSeeOther && p.Code != http.StatusOK {
		t.Fatalf("begin: %d %s", p.Code, p.Body)
	}
	p = b.Get("/system")
	if !strings.Contains(p.Body, "the &lt;ERP&gt; is down") || !strings.Contains(p.Body, "End the maintenance") {
		t.Error("the page does not say that it is maintained")
	}
	form = p.Hidden()
	form.Set("on", "true")
	if p := b.Post("/system/maintenance", form); p.Code != http.StatusConflict {
		t.Errorf("twice: %d", p.Code)
	}
}
