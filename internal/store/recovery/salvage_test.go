package recovery

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// damagedDatabase has forty runs of four rows, one with a large value. breaks damages its file.
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
		r, _, err := s.CreateRun(
			ctx,
			domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api", Input: domain.RawJSON(`"` + strings.Repeat(fmt.Sprint(i), 5000) + `"`)},
		)
		if err != nil {
			t.Fatal(err)
		}
		for seq := range int64(4) {
			e := row("n", fmt.Sprintf(`"row %d of run %d %s"`, seq, i, strings.Repeat("x", 500)))
			e.Visit = int(seq) + 1
			if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Fence: seq, Entries: []domain.Entry{e}}); err != nil {
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

func TestSalvageCopiesReadableRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(path string)
		least  int64 // journal rows that must be saved
		whole  bool
	}{
		"nothing": {func(string) {}, 160, true},
		"a row was changed": {func(path string) {
			if err := alter(t, path, "DROP TRIGGER step_results_are_immutable; UPDATE step_results SET output = "+
				"'\"forged\"' WHERE id = 7"); err != nil {
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
			r, err := Salvage(context.Background(), path, filepath.Join(t.TempDir(), "saved"), store.Options{})
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
			if _, err := Salvage(context.Background(), path, filepath.Dir(r.Path), store.Options{}); domain.CodeOf(
				err,
			) != domain.CodeInvalid {
				t.Errorf("into a directory that is there: %v", err)
			}
		})
	}
}

// journalPages returns the pages that contain rows of the journal.
func journalPages(t *testing.T, path string) (out []int64) {
	t.Helper()
	pool, err := core.OpenPlain(path, "&mode=ro")
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

// fill inserts a row into every empty table. Each column has a value that the schema allows.
func fill(t *testing.T, pool *sql.DB) {
	t.Helper()
	oneOf := regexp.MustCompile(`(\w+) IN \(([^)]*)\)`)
	for _, table := range column(t, pool, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND "+
		"name NOT GLOB 'sqlite_*' ORDER BY name NOT IN ('users', 'bulks')") {
		if n := column(t, pool, "SELECT count(*) FROM "+table); n[0] != "0" || notSalvaged[table] != "" {
			continue
		}
		allowed := map[string]string{} // the last allowed value of each column
		for _, m := range oneOf.FindAllStringSubmatch(column(t, pool, "SELECT sql FROM sqlite_schema WHERE name = ?", table)[0], -1) {
			values := strings.Split(m[2], ", ")
			allowed[m[1]] = values[len(values)-1]
		}
		var values []string
		for _, c := range column(t, pool, "SELECT name || ' ' || type FROM pragma_table_info(?)", table) {
			name, kind, _ := strings.Cut(c, " ")
			value := map[string]string{"INTEGER": "1", "TEXT": "'{}'", "BLOB": "zeroblob(32)", "REAL": "1.0"}[kind]
			values = append(values, cmp.Or(allowed[name], value))
		}
		if _, err := pool.Exec("INSERT INTO " + table + " VALUES (" + strings.Join(values, ", ") + ")"); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
}

// column returns the first column of a query's rows, as text.
func column(t *testing.T, pool *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := pool.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every table of the schema is either copied completely or built again.
func TestSalvageCopiesEveryTable(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	path := damagedDatabase(t, func(path string) {
		pool, err := core.OpenPlain(path, "&_pragma=foreign_keys(0)")
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		fill(t, pool)
		for _, table := range column(t, pool, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "+
			"AND name NOT GLOB 'sqlite_*'") {
			want[table] = column(t, pool, "SELECT count(*) FROM "+table)[0]
		}
	})
	r, err := Salvage(t.Context(), path, filepath.Join(t.TempDir(), "saved"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for table, n := range want {
		if notSalvaged[table] == "" && fmt.Sprint(r.Copied[table]) != n {
			t.Errorf("%s: %d rows of %s are saved", table, r.Copied[table], n)
		}
		if n == "0" && notSalvaged[table] == "" {
			t.Errorf("%s is empty", table)
		}
	}
	for _, finding := range r.Findings {
		if strings.HasPrefix(finding, "sqlite") || strings.HasPrefix(finding, "counters") || strings.HasPrefix(finding, "foreign keys") {
			t.Error(finding)
		}
	}
	if len(r.Lost) > 0 {
		t.Errorf("lost: %v", r.Lost)
	}
}

// Whichever pages are empty, for example because the write-ahead log was truncated while the daemon
// was running, salvage ends. It saves every row that can be read by its id.
func TestSalvageOfAMalformedDatabase(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			readable := map[string]int64{}
			const rows = 8000
			path := damagedDatabase(t, func(path string) {
				if err := alter(t, path, fmt.Sprintf("INSERT INTO skill_runs WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "+
					"SELECT i + 1 FROM n WHERE i < %d) SELECT i, 'a skill', 'a tool', i, i, i FROM n", rows)); err != nil {
					t.Fatal(err)
				}
				pool, err := core.OpenPlain(path, "&mode=ro")
				if err != nil {
					t.Fatal(err)
				}
				inner := column(
					t,
					pool,
					"SELECT pageno FROM dbstat WHERE name IN ('skill_runs', 'audit_events') AND pagetype = 'internal' AND path <> '/'",
				)
				last := column(
					t,
					pool,
					"SELECT pageno FROM dbstat WHERE name = 'skill_runs' AND pagetype = 'leaf' ORDER BY path DESC LIMIT 1",
				)
				count := column(t, pool, "PRAGMA page_count")[0]
				if err := pool.Close(); err != nil {
					t.Fatal(err)
				}
				broken := last
				if len(inner) > 0 {
					broken = append(broken, inner[r.IntN(len(inner))])
				}
				pages, err := strconv.Atoi(count)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 + int(seed) {
					broken = append(broken, strconv.Itoa(2+r.IntN(pages-1)))
				}
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range broken {
					page, err := strconv.Atoi(p)
					if err == nil {
						_, err = f.WriteAt(make([]byte, 4096), int64(page-1)*4096)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				for table, most := range map[string]int{"skill_runs": rows, "audit_events": 300} {
					readable[table] = rowsByID(t, path, table, most)
				}
			})
			got, err := Salvage(t.Context(), path, filepath.Join(t.TempDir(), "saved"), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for table, want := range readable {
				if got.Copied[table] != want {
					t.Errorf("%s: %d rows saved, %d can be read\n%s", table, got.Copied[table], want, strings.Join(got.Findings, "\n"))
				}
			}
			if got.Lost["skill_runs"] == 0 {
				t.Errorf("nothing is listed as lost: %v", got.Findings)
			}
		})
	}
}

// rowsByID counts the rows that can be read one by one.
func rowsByID(t *testing.T, path, table string, most int) (n int64) {
	t.Helper()
	pool, err := core.OpenPlain(path, "&mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	stmt, err := pool.Prepare("SELECT * FROM " + table + " WHERE rowid = ?")
	if err != nil {
		return 0
	}
	defer stmt.Close()
	for id := 1; id <= most; id++ {
		rows, err := stmt.Query(id)
		if err != nil {
			continue
		}
		if rows.Next() {
			n++
		}
		rows.Close()
	}
	return n
}
