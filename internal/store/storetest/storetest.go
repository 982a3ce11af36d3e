// Package storetest opens real stores for tests.
package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Open opens a migrated store in a new directory. The end of the test closes it.
func Open(tb testing.TB) *store.Store {
	tb.Helper()
	return OpenAt(tb, filepath.Join(tb.TempDir(), "kairos.db"))
}

// OpenAt opens the store at a path. The end of the test closes it.
func OpenAt(tb testing.TB, path string) *store.Store {
	tb.Helper()
	return open(tb, path, store.Options{})
}

// OpenExamining opens a store whose requests read at most this many rows.
func OpenExamining(tb testing.TB, rows int) *store.Store {
	tb.Helper()
	return open(tb, filepath.Join(tb.TempDir(), "kairos.db"), store.Options{}.Examining(rows))
}

// schema returns a database file that has only the schema, as a crash during the first start leaves it.
// To create the schema takes longer than most tests.
var schema = sync.OnceValues(func() (file []byte, err error) {
	if err := core.DriverSetup(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "schema")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "kairos.db")
	pool, err := sql.Open("sqlite", core.FileURL(path)+"?_pragma=auto_vacuum(2)&_pragma=journal_mode(WAL)")
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	p, err := core.Provider(pool, db.Migrations())
	if err == nil {
		_, err = p.Up(context.Background())
	}
	if err == nil {
		_, err = pool.Exec(fmt.Sprintf("PRAGMA application_id = %d", core.ApplicationID))
	}
	if err = errors.Join(err, pool.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// create writes a database file with the schema, unless there is a file.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := schema()
	if err != nil {
		return err
	}
	return os.WriteFile(path, file, 0o600)
}

func open(tb testing.TB, path string, o store.Options) *store.Store {
	tb.Helper()
	if err := create(path); err != nil {
		tb.Fatalf("create store: %v", err)
	}
	s, err := store.Open(context.Background(), path, o)
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
	})
	return s
}

// Archive archives a plan, or restores it from the archive.
func Archive(tb testing.TB, s *store.Store, idOrKey string, archived bool) {
	tb.Helper()
	at := time.Time{}
	if archived {
		at = time.Now()
	}
	change(tb, s, idOrKey, func(tx *store.Tx, id string) error { return tx.ArchivePlan(id, at) })
}

// Pause prevents new runs of a plan from starting; nil ends the pause.
func Pause(tb testing.TB, s *store.Store, idOrKey string, stop *domain.Disablement) {
	tb.Helper()
	change(tb, s, idOrKey, func(tx *store.Tx, id string) error { return tx.PausePlan(id, stop) })
}

func change(tb testing.TB, s *store.Store, idOrKey string, f func(tx *store.Tx, id string) error) {
	tb.Helper()
	if _, _, err := s.Do(store.Operation{Name: "test"}, func(tx *store.Tx) (string, error) {
		p, err := tx.Plan(idOrKey)
		if err != nil {
			return "", err
		}
		return p.ID, f(tx, p.ID)
	}); err != nil {
		tb.Fatalf("change plan %s: %v", idOrKey, err)
	}
}

// Plan stores a plan given as YAML or JSON and returns its version.
func Plan(tb testing.TB, s *store.Store, src string) domain.Version {
	tb.Helper()
	d, problems := planner.Parse([]byte(src))
	if err := problems.Err(); err != nil {
		tb.Fatalf("parse plan: %v", err)
	}
	_, v, _, err := s.PutVersion(context.Background(), domain.NewVersion{Key: d.ID, Name: d.Name, Description: d.Description, Hash: d.Hash,
		Kind: string(
			d.Kind(),
		), Format: string(d.Format), Origin: "upload", Semantics: walk.Semantics, Source: d.Source, Canonical: d.Canonical(),
		ByPerson: true, Author: "test"}, domain.System)
	if err != nil {
		tb.Fatalf("store plan: %v", err)
	}
	return v
}

// Run creates a queued run of a version.
func Run(tb testing.TB, s *store.Store, v domain.Version, input string) domain.Run {
	tb.Helper()
	return RunFrom(tb, s, v, input, "api")
}

// RunFrom is Run with an origin.
func RunFrom(tb testing.TB, s *store.Store, v domain.Version, input, origin string) domain.Run {
	tb.Helper()
	r := domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: origin}
	if input != "" {
		r.Input = domain.RawJSON(input)
	}
	run, created, err := s.CreateRun(context.Background(), r)
	if err != nil || !created {
		tb.Fatalf("create run: created %v, %v", created, err)
	}
	return run
}

// TwoNodes is a plan with two steps.
const TwoNodes = `
id: two
nodes:
  a: {type: set, input: 1}
  b: {type: noop}
edges:
  - {from: a, to: b}
`

// Entry returns the result row of a step.
func Entry(node string, output string) domain.Entry {
	now := time.Now()
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: -1, Attempt: 1, Status: domain.NodeCompleted, Final: true,
		Effect: "pure", Output: domain.RawJSON(output), StartedAt: now, At: now}
}

// Commit commits a checkpoint of a run.
func Commit(tb testing.TB, s *store.Store, run string, fence int64, patch *domain.RunPatch, entries ...domain.Entry) {
	tb.Helper()
	if err := s.Commit(context.Background(), domain.Checkpoint{Run: run, Fence: fence, Entries: entries, Patch: patch}); err != nil {
		tb.Fatalf("commit at %d: %v", fence, err)
	}
}

// Text reads one value from the file of a store that may be open.
func Text(tb testing.TB, path, query string) (text string) {
	tb.Helper()
	if err := driver(); err != nil {
		tb.Fatalf("set up the driver: %v", err)
	}
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(30000)")
	if err != nil {
		tb.Fatalf("open the file: %v", err)
	}
	defer pool.Close()
	if err := pool.QueryRow(query).Scan(&text); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return text
}

// Alter changes the file of a store that may be open, and bypasses the triggers that protect
// journals. A failing disk or another program could do the same.
func Alter(tb testing.TB, path, statements string) {
	tb.Helper()
	if err := driver(); err != nil {
		tb.Fatalf("set up the driver: %v", err)
	}
	pool, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(30000)")
	if err != nil {
		tb.Fatalf("open the file: %v", err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	rows, err := pool.Query(
		"SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name IN ('step_results_are_immutable', 'step_results_are_kept')",
	)
	if err != nil {
		tb.Fatalf("read the triggers: %v", err)
	}
	before, after := "", ""
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			tb.Fatalf("read a trigger: %v", err)
		}
		before, after = before+"DROP TRIGGER "+name+";", after+text+";"
	}
	if err := rows.Close(); err != nil {
		tb.Fatalf("read the triggers: %v", err)
	}
	if _, err := pool.Exec("BEGIN IMMEDIATE;" + before + statements + ";" + after + ";COMMIT"); err != nil {
		tb.Fatalf("%s: %v", statements, err)
	}
}

// driver opens a store as the first database of the process, because it determines how all
// databases are locked.
var driver = sync.OnceValue(func() error {
	s, err := store.OpenMemory(context.Background(), store.Options{})
	if err != nil {
		return err
	}
	return s.Close()
})

// Turn flips a bit at the last occurrence of a text in a closed store's file.
func Turn(tb testing.TB, path, text string) {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("read the file: %v", err)
	}
	at := bytes.LastIndex(b, []byte(text))
	if at < 0 {
		tb.Fatalf("the file does not hold %q", text)
	}
	b[at+len(text)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatalf("write the file: %v", err)
	}
}

// Do executes an operation on a store. action is the action of its audit records.
func Do(tb testing.TB, s *store.Store, action string, f func(tx *store.Tx) error) {
	tb.Helper()
	o := store.Operation{
		Name:     action,
		Action:   action,
		By:       domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"},
		At:       time.Now(),
		EvenFull: true,
	}
	if _, _, err := s.Do(o, func(tx *store.Tx) (string, error) { return "", f(tx) }); err != nil {
		tb.Fatal(err)
	}
}
