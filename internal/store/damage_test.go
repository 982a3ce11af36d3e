package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/vfstest"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// findings is the result of opening a directory: whether the store opens, whether it is held, and
// the findings of the integrity check.
type findings struct {
	refused  error
	held     bool
	problems []string
	last     int64 // last event
	tables   map[string]string
}

func (f findings) reported() bool { return f.refused != nil || f.held || len(f.problems) > 0 }

func find(dir string) (f findings, err error) {
	ctx := context.Background()
	path := filepath.Join(dir, "kairos.db")
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return findings{refused: err}, nil
	}
	f.held = s.RolledBack()
	if f.last, err = s.LastEvent(ctx); err != nil {
		f.problems = append(f.problems, err.Error())
	}
	checks, err := recovery.Verify(ctx, s)
	if err != nil {
		f.problems = append(f.problems, err.Error())
	}
	for _, c := range checks {
		f.problems = append(f.problems, c.Problems...)
	}
	runs, err := s.Unfinished(ctx)
	if err != nil {
		f.problems = append(f.problems, err.Error())
	}
	for _, r := range runs {
		if _, err := s.Journal(ctx, r.ID, 0); err != nil {
			f.problems = append(f.problems, err.Error())
		}
	}
	if err := s.Close(); err != nil {
		f.problems = append(f.problems, err.Error())
	}
	if !f.reported() {
		f.tables, err = dump(path)
		if err != nil {
			f.problems = append(f.problems, err.Error())
		}
	}
	return f, nil
}

// dump contains the text of every table with acknowledged data.
func dump(path string) (map[string]string, error) {
	pool, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	out := map[string]string{}
	for table, columns := range map[string]string{
		"runs": "id, public_id, plan_id, version_id, status, wait_reason, last_seq, steps, path, headline, node, " +
			"error_code, actor, origin, created_at",
		"run_details": "run_id, output, limits",
		// The columns with which a run is created.
		"runs AS created": "id, public_id, actor, origin, priority, run_key, concurrency_key, parent_run, " +
			"forked_from, fork_seq, rerun_of, start_at",
		"run_details AS created": "run_id, input, session, labels, parent, concurrency",
		"step_results":           "*",
		"payloads":               "hash, size, encoding, data",
		"audit_events": "seq, at, run_id, first_seq, run_seq, digest, action, actor, source, object, result, " +
			"reason, detail, request, address, mac",
		"plan_versions": "id, plan_id, number, hash, source",
	} {
		rows, err := pool.Query("SELECT " + columns + " FROM " + table + " ORDER BY 1")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		names, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				return nil, errors.Join(err, rows.Close())
			}
			fmt.Fprintln(&b, values...)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		out[table] = b.String()
	}
	return out, nil
}

// place writes files to a new directory, checks them, and removes the directory.
func place(in string, left map[string][]byte) (findings, error) {
	dir, err := os.MkdirTemp(in, "")
	if err != nil {
		return findings{}, err
	}
	if err := vfstest.Put(dir, left); err != nil {
		return findings{}, err
	}
	f, err := find(dir)
	return f, errors.Join(err, os.RemoveAll(dir))
}

// ofWork returns the files of an active store whose write-ahead log was never emptied, at its last
// acknowledgment, with an anchor that includes all of it.
func ofWork(t *testing.T) (map[string][]byte, int64) {
	t.Helper()
	w := work(t, 8, 1<<20)
	last := 0
	for _, a := range w.acks {
		last = max(last, a.at)
	}
	d := vfstest.NewDisk(map[string][]byte{"kairos.db": w.before["kairos.db"]})
	for _, op := range w.rec.Ops[:last] {
		d.Do(op)
	}
	left := d.Cut(vfstest.Kept, 1)
	left["kairos.db.key"], left["kairos.db.anchor"] = w.before["kairos.db.key"], w.anchor
	f, err := place(proof.Dir(t), left)
	if err != nil || f.reported() {
		t.Fatalf("before any damage: %+v, %v", f, err)
	}
	return left, f.last
}

// with returns left with another content of one file.
func with(left map[string][]byte, name string, b []byte) map[string][]byte {
	left = maps.Clone(left)
	left[name] = b
	return left
}

// SQLite silently treats a damaged end of its write-ahead log as the end of the log. The anchor
// detects that: if acknowledged events are missing, the store opens held, and the remaining data is
// intact.
func TestADamagedLogIsNoticed(t *testing.T) {
	t.Parallel()
	left, last := ofWork(t)
	wal := left["kairos.db-wal"]
	dir, seed := proof.Dir(t), proof.Seed(t)
	r := rand.New(rand.NewPCG(seed, 4))
	try := func(what string, at int, b []byte) {
		f, err := place(dir, with(left, "kairos.db-wal", b))
		switch {
		case err != nil:
			t.Fatal(err)
		case f.refused != nil && domain.CodeOf(f.refused) != domain.CodeCorrupt:
			t.Errorf("%s at %d, KAIROS_SEED=%d: refused for a wrong reason: %v", what, at, seed, f.refused)
		case f.refused == nil && len(f.problems) > 0:
			t.Errorf("%s at %d, KAIROS_SEED=%d: what is left is not whole: %v", what, at, seed, f.problems)
		case !f.reported() && f.last < last:
			t.Errorf("%s at %d, KAIROS_SEED=%d: events %d to %d are gone and nobody says so", what, at, seed, f.last+1, last)
		}
	}
	cuts := proof.Size(10, 800)
	for i := range cuts {
		at := r.IntN(len(wal))
		if i < 3 { // at both ends
			at = []int{0, 1, len(wal) - 1}[i]
		}
		try("cut", at, wal[:at])
	}
	flips := proof.Size(10, 800)
	for range flips {
		at := r.IntN(len(wal))
		b := slices.Clone(wal)
		b[at] ^= 1 << r.IntN(8)
		try("bit flip", at, b)
	}
	proof.Figure(t, "log cuts", cuts)
	proof.Figure(t, "bit flips", flips)
}

// hashed are the tables in which a hash covers every row, and the constant columns of runs. The
// other columns of runs can be computed again from the journal.
var hashed = map[string]bool{
	"step_results":           true,
	"payloads":               true,
	"audit_events":           true,
	"runs AS created":        true,
	"run_details AS created": true,
}

// One bit of the database file is flipped. Every resulting change of the journals, values, or audit
// log is detected: by SQLite, by the hash of a row, or by the chain.
func TestAFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	left, _ := ofWork(t)
	in := proof.Dir(t)
	// Everything is in the database file, as after a clean shutdown.
	dir := filepath.Join(in, "whole")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := vfstest.Put(dir, left); err != nil {
		t.Fatal(err)
	}
	sound, err := find(dir)
	if err != nil || sound.reported() {
		t.Fatalf("before any damage: %+v, %v", sound, err)
	}
	left = read(t, filepath.Join(dir, "kairos.db"), "", ".key", ".anchor")
	db := left["kairos.db"]
	seed := proof.Seed(t)
	r := rand.New(rand.NewPCG(seed, 5))
	n := proof.Size(40, 1000)
	reported, harmless, bySQLite, unhashed := 0, 0, 0, map[string]int{}
	for range n {
		at, bit := r.IntN(len(db)), r.IntN(8)
		b := slices.Clone(db)
		b[at] ^= 1 << bit
		f, err := place(in, with(left, "kairos.db", b))
		if err != nil {
			t.Fatal(err)
		}
		if f.reported() {
			reported++
			if f.refused != nil || strings.Contains(strings.Join(f.problems, ""), "Tree") {
				bySQLite++
			}
			continue
		}
		for table, text := range sound.tables {
			if f.tables[table] == text {
				continue
			}
			unhashed[table]++
			if hashed[table] {
				t.Errorf(
					"byte %d bit %d, KAIROS_SEED=%d: %s reads otherwise and nobody says so%s",
					at,
					bit,
					seed,
					table,
					difference(text, f.tables[table]),
				)
			}
		}
		harmless++
	}
	t.Logf(
		"of %d flips %d were reported (%d by SQLite alone), %d changed nothing that a hash covers; unreported elsewhere: %v",
		n,
		reported,
		bySQLite,
		harmless,
		unhashed,
	)
	proof.Figure(t, "bit flips", n)
}

// difference returns the first line that differs.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			other := ""
			if i < len(y) {
				other = y[i]
			}
			return fmt.Sprintf("\n-%.300s\n+%.300s", x[i], other)
		}
	}
	return ""
}

// A backup with a single changed bit is rejected, wherever the bit is, even if no row's hash covers
// it.
func TestAChangedBackupIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := proof.Dir(t)
	path, file := filepath.Join(dir, "kairos.db"), filepath.Join(dir, "b.db")
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Backup(ctx, s, file, "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.VerifyBackupFile(ctx, file, path, recovery.RestoreOptions{}); err != nil {
		t.Fatalf("before any change: %v", err)
	}
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(proof.Seed(t), 6))
	for range proof.Size(20, 500) {
		at := r.IntN(len(sound))
		b := slices.Clone(sound)
		b[at] ^= 1 << r.IntN(8)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := recovery.VerifyBackupFile(ctx, file, path, recovery.RestoreOptions{}); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}
