package system_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// After a restore, every page shows that runs are held, and why. An operator releases them on the
// health page.
func TestAHoldIsShownEverywhereAndReleasedByForm(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := storetest.Plan(t, s, "id: one\nnodes:\n  a: {type: set, input: 1}\n")
	run := storetest.Run(t, s, v, "")
	backup := filepath.Join(t.TempDir(), "b.db")
	if _, err := recovery.Backup(t.Context(), s, backup, "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := recovery.Restore(t.Context(), backup, path, recovery.RestoreOptions{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	site := webtest.NewOn(t, storetest.OpenAt(t, path))
	site.System.Set(domain.Server{Hold: &r.Hold, Held: 1, Version: "test", Started: time.Now(),
		ServerStorage: domain.ServerStorage{Plans: []domain.PlanStorage{{Plan: domain.PlanRef{Key: "one"}, Runs: 1, Bytes: 3 << 20}}},
		ServerBackups: domain.ServerBackups{
			Backups:   []domain.Backup{{Path: backup, Bytes: 5 << 20, Created: time.Now(), Rows: map[string]int64{"runs": 1}}},
			Retention: []string{"all plans: <b>"},
		}},
		domain.Notice{Bad: true, Text: domain.Messagef("Nothing is executed."), Href: "/system",
			Action: domain.Messagef("Review and release")})
	b := site.Browser(t).Login()
	for _, page := range []string{"/", "/runs", "/plans", "/audit"} {
		if p := b.Get(page); !strings.Contains(p.Body, "Nothing is executed.") || !strings.Contains(p.Body, `href="/system"`) {
			t.Errorf("%s does not show quarantined runs", page)
		}
	}
	p := b.Get("/system")
	for _, want := range []string{"restored from b.db", "1 run is held", "Release all held runs"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	stored := b.Get("/system/storage").Body
	for _, want := range []string{"3.0 MiB", "5.0 MiB", "all plans: &lt;b&gt;", "Back up now"} {
		if !strings.Contains(stored, want) {
			t.Errorf("the storage page does not contain %q", want)
		}
	}
	form := p.Hidden()
	form.Set("reason", "looked at it")
	if p := b.Post("/system/release", form); p.Code != http.StatusSeeOther && p.Code != http.StatusOK {
		t.Fatalf("release: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	got, err := site.Engine.WaitFor(t.Context(), run.ID, func(r domain.Run) bool { return r.Status == domain.RunCompleted })
	if err != nil {
		t.Errorf("the run is %s %s: %v", got.Status, got.WaitReason, err)
	}
	again := b.Get("/system").Hidden()
	if p := b.Post("/system/release", again); p.Code != http.StatusSeeOther {
		t.Errorf("releasing without quarantined runs: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := b.Post("/system/backup", url.Values{"csrf": again["csrf"], "idem": {"x"}}); p.Code >= 400 || site.System.Backups() != 1 {
		t.Errorf("backup: status %d, %d made", p.Code, site.System.Backups())
	}
}

// The health metrics show which values are too high, with advice. An operator starts and ends
// maintenance by form.
func TestVitalLinesAndMaintenance(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.System.Set(domain.Server{Version: "test", Started: time.Now(), Host: "kairos-01", Clock: domain.Clock{Known: true},
		ServerStarts: domain.ServerStarts{
			Starts:        4,
			StartTimes:    []time.Time{time.Now().Add(-time.Hour), time.Now().Add(-30 * time.Hour)},
			UncleanStarts: 2,
			Continued:     7,
			Undecided:     1,
		},
		ServerConfig: domain.ServerConfig{
			ConfigFile:  "/etc/kairos.yaml",
			ConfigSum:   "0123456789abcdef",
			ConfigLater: []string{"server.hosts", "telemetry"},
			ConfigError: "line 3: unknown key",
		},
		ServerBackups: domain.ServerBackups{BackupDir: "/backups"},
		ServerStorage: domain.ServerStorage{Storage: domain.Storage{WAL: 300 << 20}}})
	b := site.Browser(t).Login()
	p := b.Get("/system")
	notYet := []string{"Last log checkpoint", "Last backup", "Last restore test", "Integrity check"} // none of these has happened yet
	for _, want := range []string{"none for 15 min, with active runs", "over 10% of finished runs",
		"over 10, or any after a crash", "p50 900 µs", "12, the oldest for 2 min", "3.00 GiB a day, full on 20", ", in 9 d",
		"all slots", "4, 2 after a crash; 7 runs were resumed; 1 waits for a decision",
		"kairos.yaml, sha256:0123456789ab", "After a restart", "server.hosts, telemetry", "Not applied",
		"line 3: unknown key", "not synchronized", "no failures", "kairos-01", `href="/readyz"`, "300.0 MiB",
		"Set backup.every", "raise engine.max_running",
		`<polyline points="0.0,`, `href="/metrics"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	for _, row := range strings.Split(p.Body, "<tr>")[1:] {
		row, _, _ = strings.Cut(row, "</tr>")
		cells := regexp.MustCompile(`(?s)<t[dh][^>]*>(.*?)</t[dh]>`).FindAllStringSubmatch(row, -1)
		if len(cells) < 4 || strings.Contains(cells[0][0], `scope="col"`) {
			continue
		}
		name := webtest.Text(cells[0][1])
		_, name, _ = strings.Cut(name, ": ")
		columns := []string{"name", "value", "trend", "threshold", "recommended action"}
		if strings.Contains(cells[0][1], "OK:") {
			columns = columns[:4] // healthy metrics have no advice
		}
		if len(cells) != len(columns) {
			t.Errorf("%s has %d columns", name, len(cells))
		}
		for n, what := range columns {
			if strings.TrimSpace(cells[n][1]) == "" && !(what == "trend" && slices.Contains(notYet, name)) {
				t.Errorf("%s has no %s", name, what)
			}
		}
	}
	form := p.Hidden()
	form.Set("on", "true")
	form.Set("reason", "the <ERP> is down")
	if p := b.Post("/system/maintenance", form); p.Code != http.StatusSeeOther && p.Code != http.StatusOK {
		t.Fatalf("begin: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	p = b.Get("/system")
	if !strings.Contains(p.Body, "the &lt;ERP&gt; is down") || !strings.Contains(p.Body, "End maintenance") {
		t.Error("the page does not show maintenance mode")
	}
	form = p.Hidden()
	form.Set("on", "true")
	if p := b.Post("/system/maintenance", form); p.Code != http.StatusSeeOther { // a repeated request changes nothing
		t.Errorf("beginning maintenance again: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
}

// The storage page shows that backups are encrypted, and which data of a backup is readable without
// its key.
func TestEncryptedBackupsAreShown(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	backup := domain.Backup{
		Path:       "/backups/kairos-1.db.age",
		Created:    time.Now().Add(-time.Hour),
		Encryption: &domain.Encryption{Recipients: []string{"age1x"}},
	}
	i := domain.Server{Version: "test", Started: time.Now(),
		ServerBackups: domain.ServerBackups{Backups: []domain.Backup{backup}}}
	site.System.Set(i)
	if text := webtest.Text(b.Get("/system").Body); !strings.Contains(text, "verified, then encrypted") {
		t.Errorf("a new backup is shown as: %s", text)
	}
	if text := webtest.Text(b.Get("/system/storage").Body); !strings.Contains(text, "Files that end in .age are encrypted") ||
		!strings.Contains(text, "--identity FILE") ||
		strings.Contains(text, "not encrypted") {
		t.Errorf("storage: %s", text)
	}
	i.RestoreTest = &domain.RestoreTest{At: time.Now(), Backup: "kairos-1.db.age", Encrypted: true}
	site.System.Set(i)
	if text := webtest.Text(b.Get("/system").Body); !strings.Contains(
		text,
		"kairos-1.db.age is unchanged. It is encrypted",
	) ||
		strings.Contains(text, "can be restored") {
		t.Errorf("a tested backup is shown as: %s", text)
	}
	i.Backups[0].Encryption, i.RestoreTest = nil, nil
	site.System.Set(i)
	if text := webtest.Text(b.Get("/system/storage").Body); !strings.Contains(text, "Backups are not encrypted") ||
		!strings.Contains(text, "backup.recipients") {
		t.Errorf("storage of an untested backup shows: %s", text)
	}
}

// The pages about the server show jobs with their last error, tables by size, and the daemon log by
// level and text. They also show the configuration with the source of each value. Text is escaped,
// and tabs that a user may not open are hidden.
func TestPartsOfTheSystem(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.System.Set(
		domain.Server{
			Version: "test",
			Started: time.Now(),
			Jobs: []domain.Job{
				{
					Name:   "retention",
					Every:  domain.Millis(time.Hour),
					LastAt: time.Now(),
					Took:   domain.Millis(3 * time.Millisecond),
					Error:  "no <b>disk</b>",
					NextAt: time.Now().Add(time.Hour),
				},
				{Name: "backup", Every: domain.Millis(6 * time.Hour), Running: true},
			},
			ServerBackups: domain.ServerBackups{Retention: []string{"all plans"}},
			ServerStorage: domain.ServerStorage{
				Plans:    []domain.PlanStorage{{Plan: domain.PlanRef{Key: "ledger"}, Rows: 10, Bytes: 1 << 20}},
				Tables:   []domain.TableStorage{{Table: "step_results", Bytes: 7 << 20, Index: 2 << 20}},
				TablesAt: time.Now(),
			},
		},
	)
	b := site.Browser(t).Login()
	for path, wants := range map[string][]string{
		"/system/storage":         {"step_results 7.0 MiB 2.0 MiB", "Retention would free about", "Preview and apply"},
		"/system/jobs":            {"retention failed 1 h", "3 ms", "no &lt;b&gt;disk&lt;/b&gt;", "backup running 6 h not yet"},
		"/system/log":             {"ERROR page failed", "&lt;script&gt;", "INFO kairosd is ready"},
		"/system/log?level=ERROR": {"ERROR page failed"},
		"/system/log?q=ready":     {"INFO kairosd is ready"},
		"/system/log?q=nothing":   {"No matching lines."},
		"/system/config":          {"approvals.separate false default"},
	} {
		p := b.Get(path)
		text := webtest.Text(p.Body)
		for _, want := range wants {
			if p.Code != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s: status %d, and the page does not contain %q:\n%s", path, p.Code, want, text)
			}
		}
		webtest.Safe(t, path, p.Body)
	}
	if p := b.Get("/system/log?level=LOUD"); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown level: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	if text := webtest.Text(b.Get("/system/log?level=ERROR").Body); strings.Contains(text, "kairosd is ready") {
		t.Errorf("the page shows a line of another level: %s", text)
	}
}

// If steps hang, or more runs fail than usual, a metric shows it. In the normal case it needs no
// attention. Past times are shown as ages.
func TestVitalLinesThatCompare(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	now := time.Now()
	site.System.Set(domain.Server{Version: "test", Started: now, CheckedAt: now.Add(-time.Hour),
		ServerBackups: domain.ServerBackups{
			BackupDir: "/backups",
			Backups:   []domain.Backup{{Created: now.Add(-2 * time.Hour)}, {Created: now.Add(-20 * time.Hour)}},
		},
		ServerStorage: domain.ServerStorage{Storage: domain.Storage{WAL: 100 << 20, MovedAt: now.Add(-2 * time.Hour)}}})
	line := func(name string) string {
		t.Helper()
		_, rest, ok := strings.Cut(b.Get("/system").Body, name+"</th>")
		row, _, _ := strings.Cut(rest, "</tr>")
		if !ok {
			t.Fatalf("no line %q", name)
		}
		return row
	}
	const alarm = `class="need"`
	for _, name := range []string{"Steps per minute", "Failed runs per minute", "Last backup", "Integrity check"} {
		if row := line(name); strings.Contains(row, alarm) || !strings.Contains(row, "<polyline") {
			t.Errorf("%s of a healthy daemon: %s", name, row)
		}
	}
	if row := line("Last log checkpoint"); !strings.Contains(row, alarm) {
		t.Errorf("a WAL without checkpoints: %s", row)
	}
	samples := make([]domain.Sample, 60)
	for i := range samples {
		samples[i] = domain.Sample{At: now.Add(time.Duration(i-59) * time.Minute), Ended: 10, Failed: 2, Nodes: int64(max(40-i, 0))}
	}
	site.System.SetHealthMetrics(domain.HealthMetrics{At: now, Working: 1, Slots: 4, Samples: samples})
	if row := line("Failed runs per minute"); !strings.Contains(row, alarm) ||
		!strings.Contains(webtest.Text(row), "2; 120 of 600 in the last hour") {
		t.Errorf("with 20 %% failed runs: %s", row)
	}
	if row := line("Steps per minute"); !strings.Contains(row, alarm) {
		t.Errorf("without a step for 15 minutes: %s", row)
	}
	site.System.SetHealthMetrics(domain.HealthMetrics{At: now, Slots: 4, Samples: samples})
	if row := line("Steps per minute"); strings.Contains(row, alarm) {
		t.Errorf("an idle queue is reported as stuck: %s", row)
	}
}
