package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/hook"
	"github.com/kairosd/kairosd/internal/store"
)

// watching is a server with a directory in which hooks watch files.
type watching struct {
	*world
	dir       string
	permitted []string
	watcher   *hook.Watcher
}

func newWatching(t *testing.T) *watching {
	t.Helper()
	w := &watching{world: newWorld(t), dir: t.TempDir()}
	w.plan = w.Save("{id: file, input: {type: object, required: [path]}, nodes: {a: {type: set, input: \"${input}\"}}}").PlanID
	w.permitted = []string{w.dir}
	w.restart()
	return w
}

// restart creates another watcher, which has only what is stored.
func (w *watching) restart() {
	w.watcher = w.hooks.Watch(hook.WatchConfig{Store: w.Store, Executing: w.Timed().Executing,
		Directories: func() []string { return w.permitted }, Now: func() time.Time { return w.now }})
}

// watch creates a hook for a pattern below the directory.
func (w *watching) watch(pattern string, change func(*domain.HookSpec)) domain.Hook {
	spec := domain.HookSpec{Scheme: domain.HookFiles, Files: filepath.Join(w.dir, pattern), Settle: 5 * time.Second}
	if change != nil {
		change(&spec)
	}
	return w.hook("in", spec)
}

func (w *watching) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// tick scans after some time.
func (w *watching) tick(after time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(after)
	if err := w.watcher.Tick(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// settle scans until files that exist now are delivered.
func (w *watching) settle() { w.tick(0); w.tick(20 * time.Second) }

// outcomes returns the deliveries to a hook, oldest first: the name of the file, the state, and the reason.
func (w *watching) outcomes(h domain.Hook) string {
	w.t.Helper()
	var out []string
	for _, d := range w.deliveries(h) {
		name, _, _ := strings.Cut(d.Event, " ")
		out = append([]string{strings.TrimSpace(fmt.Sprintf("%s %s %s", filepath.Base(name), d.State, d.Reason))}, out...)
		if (d.State == domain.DeliveryAccepted) != (d.Run+d.Signal != "") {
			w.t.Errorf("%s: run %q, signal %q", d.State, d.Run, d.Signal)
		}
	}
	return strings.Join(out, ", ")
}

func (w *watching) want(h domain.Hook, want string) {
	w.t.Helper()
	if got := w.outcomes(h); got != want {
		w.t.Errorf("got %q, want %q", got, want)
	}
}

// A file that stays the same for the time of the hook starts one run, also after a restart, and after it was
// gone for a while. A changed file starts another run.
func TestAFileStartsOneRun(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	h := w.watch("*.csv", nil)
	path := w.write("a.csv", "1")
	w.tick(0)
	w.tick(4 * time.Second)
	w.write("a.csv", "12") // the writer continues
	w.tick(time.Second)
	w.tick(4 * time.Second)
	w.want(h, "")
	w.tick(time.Second)
	w.want(h, "a.csv accepted")
	d := w.deliveries(h)[0]
	if want := `"path":"` + path + `","size":2}`; !strings.HasSuffix(d.Body, want) || d.Size != 2 || d.Remote != "" || !d.Verified {
		t.Errorf("got %+v, want %s", d, want)
	}
	if r := w.Settle(d.Run); r.Status != domain.RunCompleted || r.Origin != domain.OriginHook || r.Labels["hook"] != "in" {
		t.Errorf("%+v", r)
	}
	w.settle()
	w.restart()
	w.settle()
	w.want(h, "a.csv accepted")

	away := filepath.Join(t.TempDir(), "a.csv")
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want(h, "a.csv accepted")

	if err := os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want(h, "a.csv accepted, a.csv accepted")
}

// The store keeps a file longer than its delivery, as long as the file exists.
func TestADeliveredFileIsNotForgotten(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	h := w.watch("*.csv", nil)
	kept, lost := w.write("kept.csv", "1"), w.write("lost.csv", "1")
	w.now = w.now.Add(-2 * domain.HookRetention)
	w.settle()
	w.want(h, "kept.csv accepted, lost.csv accepted")
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	w.tick(time.Second)
	if err := w.Store.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(h, "")
	w.restart()
	w.settle()
	w.want(h, "")
	if events, err := w.Store.WatchedFiles(t.Context(), h.ID); err != nil || len(events) != 1 || !strings.HasPrefix(events[0], kept+" ") {
		t.Errorf("%q %v", events, err)
	}
}

// Patterns select regular files in the directories of the pattern. Links and hidden files are left out.
func TestPatternsOfFiles(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/1.csv", "b/2.csv", "b/2.txt", "b/.2.csv", ".hidden/3.csv", "4.csv", "c/d/5.csv"} {
		w.write(name, "x")
	}
	for from, to := range map[string]string{"link": outside,
		"c/link.csv": filepath.Join(outside, "secret.csv"), "e": filepath.Join(w.dir, "a")} {
		if err := os.Symlink(to, filepath.Join(w.dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"*/*.csv": "1.csv accepted, 2.csv accepted",
		"[ab]/?.csv": "1.csv accepted, 2.csv accepted",
		"4.csv":      "4.csv accepted",
		"link/*":     " refused hook.files", "none/*": " refused hook.files", "*/none/*": "", "c/link.csv": "",
		".hidden/*": "3.csv accepted", "*/*": "1.csv accepted, 2.csv accepted, 2.txt accepted", "4.csv/*": " refused hook.files"} {
		h := w.hook("h"+domain.NewID(), domain.HookSpec{Scheme: domain.HookFiles, Files: w.dir + "/" + pattern, Settle: time.Second})
		w.settle()
		if got := strings.ReplaceAll(w.outcomes(h), ". refused", " refused"); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

// E17: a file whose run cannot start is refused once, with the reason, and can be replayed. While the plan
// or the hook is paused, files wait. A problem is stored once.
func TestFilesThatStartNoRun(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	h := w.watch("*.csv", func(s *domain.HookSpec) { s.Filter, s.Input = "body.size > 0.0", "{'path': body.nothing}" })
	w.write("bad.csv", "x")
	w.write("empty.csv", "")
	w.settle()
	w.settle()
	if got := w.outcomes(h); got != "bad.csv refused hook.expression, empty.csv filtered hook.filter" &&
		got != "empty.csv filtered hook.filter, bad.csv refused hook.expression" {
		t.Fatalf("got %q", got)
	}
	h.Input = "{'path': body.path}"
	w.change(h)
	for _, d := range w.deliveries(h) {
		if d.State != domain.DeliveryRefused {
			continue
		}
		if again, err := w.hooks.Replay(t.Context(), d, "op"); err != nil || again.State != domain.DeliveryAccepted {
			t.Errorf("%+v %v", again, err)
		}
	}
	before := len(w.deliveries(h))
	h.Paused = &domain.Disablement{Since: w.now}
	w.change(h)
	w.write("later.csv", "x")
	w.settle()
	h.Paused = nil
	w.change(h)
	w.pausePlan(true)
	w.settle()
	w.settle()
	if got := w.deliveries(h); len(got) != before+1 || got[0].Reason != "plan_paused" || got[0].Event != "" || got[0].Verified {
		t.Errorf("%+v", got)
	}
	w.pausePlan(false)
	w.settle()
	if got := w.deliveries(h); len(got) != before+2 || got[0].State != domain.DeliveryAccepted {
		t.Errorf("%+v", got)
	}
}

// A delivery that starts nothing announces itself to open pages.
func TestDeliveriesAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Filter: "false"})
	w.watch("*.csv", func(s *domain.HookSpec) { s.Filter = "false" })
	events, err := w.Subscribe(t.Context(), -1, "")
	if err != nil {
		t.Fatal(err)
	}
	want := func(object, status string) {
		t.Helper()
		for e := range events {
			if e.Type == "hook_delivery" {
				if e.Data["object"] != object || fmt.Sprint(e.Data["status"]) != status {
					t.Errorf("got %v, want %s %s", e.Data, object, status)
				}
				return
			}
		}
	}
	w.bearer("evt", "{}")
	want("hook:b", "filtered")
	w.send("/hooks/b", "{}", "Authorization: Bearer wrong")
	want("hook:b", "refused")
	w.write("a.csv", "")
	w.settle()
	want("hook:in", "filtered")
	w.permitted = nil
	w.tick(time.Minute)
	want("hook:in", "refused")
}

func (w *watching) pausePlan(on bool) {
	w.t.Helper()
	var pause *domain.Disablement
	if on {
		pause = &domain.Disablement{Since: w.now}
	}
	if _, _, err := w.Store.Do(store.Operation{Name: "pause", By: enginetest.Operator, At: w.now}, func(tx *store.Tx) (string, error) {
		return "", tx.PausePlan(w.plan, pause)
	}); err != nil {
		w.t.Fatal(err)
	}
}

// A file can send a signal.
func TestAFileSendsASignal(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	h := w.watch("*.done", func(s *domain.HookSpec) { s.Signal = "'done.' + body.name" })
	w.write("7.done", "")
	w.settle()
	w.want(h, "7.done accepted")
	list, err := w.Store.Signals(t.Context(), domain.SignalFilter{Text: "done.7.done"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

// E18: many files start at a limited rate, and too many files are a problem that is stored. The directory
// must be permitted and exist.
func TestLimitsOfWatchedFiles(t *testing.T) {
	t.Parallel()
	w := newWatching(t)
	h := w.watch("*.csv", nil)
	for i := range domain.MaxFileStarts + 1 {
		w.write(fmt.Sprint(i, ".csv"), "x")
	}
	w.tick(0)
	w.tick(5 * time.Second)
	if n := len(w.deliveries(h)); n != domain.MaxFileStarts {
		t.Errorf("%d deliveries", n)
	}
	w.tick(time.Second)
	if n := len(w.deliveries(h)); n != domain.MaxFileStarts+1 {
		t.Errorf("%d deliveries", n)
	}
	problem := func(want string) {
		t.Helper()
		w.tick(20 * time.Second)
		w.tick(20 * time.Second)
		if d := w.deliveries(h)[0]; d.State != domain.DeliveryRefused || !strings.Contains(d.Message, want) {
			t.Errorf("got %+v, want %s", d, want)
		}
	}
	h.Files = filepath.Join(w.dir, "many/*")
	w.change(h)
	problem("no such file")
	for i := range domain.MaxWatchedFiles + 1 {
		w.write(fmt.Sprint("many/", i), "")
	}
	w.now = w.now.Add(time.Minute)
	w.tick(0)
	if d := w.deliveries(h)[0]; !strings.Contains(d.Message, "more than 10000 files") {
		t.Errorf("%+v", d)
	}
	w.permitted = nil
	problem("may not watch")
}

// E17: relative patterns, and patterns that lead out of the permitted directories, are rejected.
func TestPatternsThatAreRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"in/*.csv": "not a pattern", "": "not a pattern", "/data/in/../*": "not a pattern", "/data/in/": "not a pattern",
		"/data/in/a\nb": "not a pattern", "/data/in/[a": "not a pattern", "/data/in/**/a": "not a pattern",
		"/data/in/1/2/3/4/5/6/7/8/9": "not a pattern", "/data/in": "may not watch", "/data/inner/*": "may not watch",
		"/data/*/a": "may not watch", "/etc/passwd": "may not watch", "/data/in/*.csv": "", "/data/in/1/2/3/4/5/6/7/8": "",
	} {
		err := hook.CheckFiles(text, []string{"/data/in"})
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if err := hook.CheckFiles("/x", []string{"/"}); err != nil {
		t.Error(err)
	}
}
