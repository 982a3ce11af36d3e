package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/kairos"
)

// damagedDatabase has forty runs of four rows, one with a large value; breaks
// damages its file.
func damagedDatabase(t *testing.T, breaks func(path string)) string {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	for i := range 40 {
		r, _, err := s.CreateRun(ctx, kairos.NewRun{Hash: v.Hash, Actor: "t", Origin: "api", Input: kairos.RawJSON(`"` + strings.Repeat(fmt.Sprint(i), 5000) + `"`)})
		if err != nil {
			t.Fatal(err)
		}
		for seq := range int64(4) {
			e := row("n", fmt.Sprintf(`"row %d of run %d %s"`, seq, i, strings.Repeat("x", 500)))
			e.Visit = int(seq) + 1
			if err := s.Commit(ctx, kairos.Checkpoint{Run: r.ID, Fence: seq, Entries: []kairos.Entry{e}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	breaks(path)
	return path
}

func TestSalvageSavesWhatCanBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(path string)
		least  int64 // journal rows that must be saved
		whole  bool
	}{
		"nothing": {func(string) {}, 160, true},
		"a row was changed": {func(path string) {
			if err := alter(t, path, "DROP TRIGGER step_results_are_immutable; UPDATE step_results SET output = '\"forged\"' WHERE id = 7"); err != nil {
				t.Fatal(err)
			}
		}, 159, false},
		"a page is garbage": {func(path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, page := range journalPages(t, path)[:4] {
				if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 4096)), (page-1)*4096); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}, 40, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := damagedDatabase(t, c.breaks)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Salvage(context.Background(), path, filepath.Join(t.TempDir(), "saved"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Copied["step_results"] < c.least || c.whole != (len(r.Findings) == 0) {
				t.Errorf("copied %v, lost %v\n%s", r.Copied, r.Lost, strings.Join(r.Findings, "\n"))
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the damaged file was changed, %v", err)
			}
			s, err := Open(context.Background(), r.Path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if h, err := s.Hold(context.Background()); err != nil || h == nil {
				t.Errorf("what was saved is not held: %+v, %v", h, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err := Salvage(context.Background(), path, filepath.Dir(r.Path), Options{}); kairos.CodeOf(err) != kairos.CodeInvalid {
				t.Errorf("into a directory that is there: %v", err)
			}
		})
	}
}

// journalPages are the pages that hold rows of the journal.
func journalPages(t *testing.T, path string) (out []int64) {
	t.Helper()
	pool, err := openPlain(path, "&mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	rows, err := pool.Query("SELECT pageno FROM dbstat WHERE name = 'step_results' AND pagetype = 'leaf' ORDER BY pageno")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var page int64
		if err := rows.Scan(&page); err != nil {
			t.Fatal(err)
		}
		out = append(out, page)
	}
	if err := rows.Err(); err != nil || len(out) < 8 {
		t.Fatalf("%d pages, %v", len(out), err)
	}
	return out
}
