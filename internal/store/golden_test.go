package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner/walk"
)

// A golden database contains the work in progress of one version of kairosd. Every later version
// must open, upgrade, and continue it. `make golden-db` creates the one of this schema. Those
// of released schemas never change. The newest one is created again with every change of the schema
// until the release.
const (
	goldenDir = "testdata/golden"
	goldenEnv = "KAIROS_GOLDEN" // if set, the test creates the database
)

// golden describes the content of a golden database.
type golden struct {
	Schema   int64                  `json:"schema"`
	Released string                 `json:"released"` // the first release with this schema; empty: none yet
	Made     string                 `json:"made"`
	Runs     map[string]goldenRun   `json:"runs"` // by key of the plan
	Sums     map[string]string      `json:"migrations"`
	Outcome  map[string]goldenState `json:"outcome"` // after all runs have finished
}

type goldenRun struct {
	ID string `json:"id"`
	goldenState
}

type goldenState struct {
	Status     domain.RunStatus  `json:"status"`
	WaitReason domain.WaitReason `json:"waitReason,omitempty"`
	Output     string            `json:"output,omitempty"` // JSON
	Version    int               `json:"version"`
}

// goldenPlans create runs in every state that an upgrade may find.
var goldenPlans = []struct{ key, src string }{
	{
		"done",
		`{id: done, nodes: {a: {type: call, foreach: "${input.list}", input: {n: "${item}"}}, b: {type: set, needs: [a], ` +
			`input: "${output.a}"}}}`,
	},
	{
		"looped",
		`{id: looped, nodes: {a: {type: call, max_visits: 3, input: {n: "${input.x}"}}, b: {type: decision, max_visits: ` +
			`3}}, start: a, edges: [{from: a, to: b}, {from: b, to: a, condition: "last.n != 3"}]}`,
	},
	{"failed", `{id: failed, nodes: {a: {type: fails}}}`},
	{"cancelled", `{id: cancelled, nodes: {a: {type: approval, input: {message: "no?"}}}}`},
	{
		"asking",
		`{id: asking, nodes: {a: {type: approval, input: {message: "yes?"}}, b: {type: set, input: ` +
			`"${output.a.approved}"}}, edges: [{from: a, to: b}]}`,
	},
	{
		"approved",
		`{id: approved, nodes: {a: {type: approval, input: {message: "yes?"}}, b: {type: wait, input: {for: 87600h}}}, ` +
			`edges: [{from: a, to: b}]}`,
	},
	{"parent", `{id: parent, nodes: {a: {type: plan, plan: asking}}}`},
	{"running", `{id: running, nodes: {a: {type: hangs}, b: {type: set, input: "${output.a}"}}, edges: [{from: a, to: b}]}`},
	{"doubtful", `{id: doubtful, nodes: {a: {type: charge}, b: {type: set, input: "${output.a}"}}, edges: [{from: a, to: b}]}`},
	{"paused", `{id: paused, nodes: {a: {type: approval, input: {message: "later?"}}}}`},
	{"purged", `{id: purged, nodes: {a: {type: set, input: 1}}}`},
}

func goldenRegistry(inside chan<- struct{}) *enginetest.Registry {
	hang := func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if inside == nil {
			return engine.Result{Output: map[string]any{"key": c.IdempotencyKey != "", "attempt": c.Attempt}}, nil
		}
		inside <- struct{}{}
		<-ctx.Done()
		return engine.Result{}, ctx.Err()
	}
	return enginetest.NewRegistry().
		Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			return engine.Result{Output: c.Input}, nil
		}).
		Handle("fails", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{}, errors.New("it does not work")
		}).
		Handle("hangs", walk.EffectIdempotent, hang).Handle("charge", walk.EffectUnsafe, hang)
}

// TestMakeGoldenDatabase creates the golden database of this schema.
func TestMakeGoldenDatabase(t *testing.T) {
	if os.Getenv(goldenEnv) == "" {
		t.Skip("make golden-db makes one")
	}
	ctx := t.Context()
	dir := filepath.Join(goldenDir, fmt.Sprintf("schema-%05d", store.SchemaVersion()))
	if b, err := os.ReadFile(filepath.Join(dir, "golden.json")); err == nil {
		var g golden
		if err := json.Unmarshal(b, &g); err != nil || g.Released != "" {
			t.Fatalf("%s is of release %s and stays as it is: a changed schema needs a new migration (%v)", dir, g.Released, err)
		}
	}
	path := filepath.Join(t.TempDir(), "kairos.db")
	s := storetest.OpenAt(t, path)
	g := golden{
		Schema: store.SchemaVersion(),
		Made:   time.Now().UTC().Format(time.DateOnly),
		Runs:   map[string]goldenRun{},
		Sums:   migrationSums(t),
	}
	quarantined := makeQuarantined(t, s)
	inside := make(chan struct{})
	e := enginetest.OpenOn(t, s, goldenRegistry(inside), engine.Options{})
	ids := map[string]string{"quarantined": quarantined}
	for _, p := range goldenPlans {
		ids[p.key] = e.Run(p.src, `{"list": [1, 2, 3], "x": 3}`).ID
		if p.key == "running" || p.key == "doubtful" {
			<-inside
		}
	}
	for _, key := range []string{"done", "looped", "failed", "cancelled", "asking", "approved", "paused", "purged"} {
		e.Settle(ids[key])
	}
	e.Until(ids["parent"], domain.RunWaiting, domain.WaitChild)
	for key, verb := range map[string]domain.Action{"cancelled": domain.ActionCancel, "paused": domain.ActionPause} {
		if _, err := e.Do(ids[key], verb); err != nil {
			t.Fatal(err)
		}
	}
	approve(t, e, ids["approved"])
	e.Until(ids["approved"], domain.RunWaiting, domain.WaitTimer)
	e.Until(ids["cancelled"], domain.RunCancelled, "")
	e.Until(ids["paused"], domain.RunWaiting, domain.WaitPaused)
	if err := s.PurgeRun(ctx, ids["purged"], domain.System, "age"); err != nil {
		t.Fatal(err)
	}
	for key, id := range ids {
		g.Runs[key] = goldenRun{id, stateOf(t, s, id)}
	}
	// The copy looks like after a crash: work is in progress, and nothing was closed.
	copied := filepath.Join(t.TempDir(), "kairos.db")
	if err := recovery.CopyTo(ctx, s, copied); err != nil {
		t.Fatal(err)
	}
	files := read(t, copied, "")
	for name, b := range read(t, path, ".key", ".anchor") {
		files[name] = b
	}
	there := t.TempDir()
	if err := putFiles(there, files); err != nil {
		t.Fatal(err)
	}
	g.Outcome = finishGolden(t, filepath.Join(there, "kairos.db"), g, recovery.Options{})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".zst"), enc.EncodeAll(b, nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "golden.json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d runs", dir, len(g.Runs))
}

// makeQuarantined creates a run during which the daemon crashed three times.
func makeQuarantined(t *testing.T, s *store.Store) string {
	t.Helper()
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		return engine.Result{Output: c.Input}, nil
	})
	e := enginetest.OpenOn(t, s, reg, engine.Options{OwnRunsOnly: true})
	v := e.Save(`{id: quarantined, nodes: {a: {type: call, input: 1}}}`)
	e.Close()
	run := storetest.Run(t, s, v, "")
	for range 3 {
		cut := enginetest.NewCut(s, 1)
		e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
		<-cut.Dead()
		e.Close()
	}
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	defer e.Close()
	e.Until(run.ID, domain.RunWaiting, domain.WaitQuarantined)
	return run.ID
}

func approve(t *testing.T, e *enginetest.Engine, run string) {
	t.Helper()
	d, err := e.Detail(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range d.Waits {
		if w.Approval != "" {
			if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: w.Approval, Approve: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func stateOf(t *testing.T, s *store.Store, id string) goldenState {
	t.Helper()
	r, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return goldenState{r.Status, r.WaitReason, string(r.Output), r.Version}
}

func migrationSums(t *testing.T) map[string]string {
	t.Helper()
	sums, err := store.MigrationSums()
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func putFiles(dir string, files map[string][]byte) error {
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// finishGolden opens a golden database, checks it, acts as operators would until every run that can
// end has ended, and returns the outcomes.
func finishGolden(t *testing.T, path string, g golden, o recovery.Options) map[string]goldenState {
	t.Helper()
	ctx := t.Context()
	s, err := recovery.Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if s.RolledBack() {
		t.Error("it is taken for a rollback")
	}
	sound := func() {
		t.Helper()
		checks, err := recovery.Doctor(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if len(c.Problems) > 0 && c.Name != "space" {
				t.Errorf("%s: %v", c.Name, c.Problems)
			}
		}
	}
	sound()
	for key, r := range g.Runs {
		if diff := cmp.Diff(r.goldenState, stateOf(t, s, r.ID)); diff != "" {
			t.Errorf("%s before anything is done, as it was (-), as it is (+):\n%s", key, diff)
		}
	}
	e := enginetest.OpenOn(t, s, goldenRegistry(nil), engine.Options{})
	defer e.Close()
	approve(t, e, g.Runs["asking"].ID)
	parent, err := e.Detail(ctx, g.Runs["parent"].ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parent.Waits {
		e.Until(w.Child, domain.RunWaiting, domain.WaitApproval)
		approve(t, e, w.Child)
	}
	e.Until(g.Runs["doubtful"].ID, domain.RunWaiting, domain.WaitInDoubt)
	if _, err := e.Resolve(ctx, enginetest.Operator,
		domain.ResolveRequest{Run: g.Runs["doubtful"].ID, Node: "a", Visit: 1, Item: -1, Attempt: 1, Action: "happened",
			Output: domain.RawJSON(`"charged"`), Reason: "seen"}); err != nil {
		t.Fatal(err)
	}
	for key, verb := range map[string]domain.Action{"quarantined": domain.ActionRelease, "paused": domain.ActionUnpause,
		"failed": domain.ActionResume} {
		if _, err := e.Do(g.Runs[key].ID, verb); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := e.Do(g.Runs["purged"].ID, domain.ActionResume); domain.CodeOf(err) == "" {
		t.Error("a run without its journal was resumed")
	}
	approve(t, e, g.Runs["paused"].ID)
	out := map[string]goldenState{}
	for key, r := range g.Runs {
		if key == "approved" { // this run waits for ten years
			e.Until(r.ID, domain.RunWaiting, domain.WaitTimer)
		} else {
			e.Settle(r.ID)
		}
		out[key] = stateOf(t, s, r.ID)
	}
	sound()
	return out
}

// This version opens every golden database, as it is and with one more migration. Nothing is
// missing. All runs continue and end with the recorded outcomes.
func TestGoldenDatabases(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no golden databases: %v", err)
	}
	paths := 0
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(b, &g); err != nil {
			t.Fatal(err)
		}
		if g.Released == "" && !cmp.Equal(g.Sums, migrationSums(t)) {
			t.Logf("%s: the schema has changed since, and no release has it: make golden-db", dir)
			continue
		}
		one := fstest.MapFS{
			"99999_add_note.sql": {
				Data: []byte("-- +goose Up\nALTER TABLE run_details ADD COLUMN note TEXT NOT NULL DEFAULT 'none';\n-- +goose Down\n"),
			},
		}
		for name, o := range map[string]recovery.Options{"as it is": {},
			"with one more migration": {Options: store.Options{Migrations: both{db.Migrations(), one}}}} {
			paths++
			t.Run(filepath.Base(dir)+" "+name, func(t *testing.T) {
				t.Parallel()
				if diff := cmp.Diff(g.Outcome, finishGolden(t, unpackGolden(t, dir), g, o)); diff != "" {
					t.Errorf("when all is done, then (-) and now (+):\n%s", diff)
				}
			})
		}
	}
	t.Cleanup(func() { proof.Figure(t, "upgrade paths", paths) })
}

// unpackGolden writes the files of a golden database to a new directory.
func unpackGolden(t *testing.T, dir string) string {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join(dir, "*.zst"))
	if err != nil || len(packed) != 3 {
		t.Fatalf("%v %v", packed, err)
	}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	to := t.TempDir()
	for _, p := range packed {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = dec.DecodeAll(b, nil); err != nil {
			t.Fatal(err)
		}
		if err := putFiles(to, map[string][]byte{filepath.Base(p[:len(p)-len(".zst")]): b}); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(to, "kairos.db")
}

// both combines the files of two file systems.
type both [2]fs.FS

func (b both) Open(name string) (fs.File, error) {
	if f, err := b[1].Open(name); err == nil && name != "." {
		return f, nil
	}
	return b[0].Open(name)
}

// Glob is the method that lists migrations.
func (b both) Glob(pattern string) (all []string, err error) {
	for _, files := range b {
		some, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}
