package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// withMalformedTable returns a database in which all pages of a table and its indexes are garbage.
func withMalformedTable(t *testing.T, table string) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateUser(t.Context(), domain.User{ID: "u", Name: "ana", Role: domain.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	overwritePages(t, path, "SELECT pageno FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = '"+table+"')")
	if s, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // the store has failed
	return s
}

// overwritePages overwrites the pages that a query lists with garbage.
func overwritePages(t *testing.T, path, query string) {
	t.Helper()
	pool, err := core.OpenPlain(path, "&mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := pool.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	var pages []int64
	for rows.Next() {
		var page int64
		if err := rows.Scan(&page); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	if err := rows.Err(); err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 4096)), (page-1)*4096); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The first read or write that finds a malformed page stops the store. Otherwise, data acknowledged
// after it could be lost with the rest of the file.
func TestTheFirstMalformedPageStopsTheStore(t *testing.T) {
	t.Parallel()
	translated := func(_ context.Context, s *Store) error {
		return s.writer.perform(func(w *writer) ([]auditRow, error) {
			_, err := w.q.UserCount(w.ctx)
			return nil, core.Translate(err, "count users")
		})
	}
	for name, find := range map[string]func(context.Context, *Store) error{
		"a write": func(ctx context.Context,
			s *Store) error {
			return s.CreateUser(ctx, domain.User{ID: "v", Name: "bo"})
		},
		"a read of a writing request": translated,
		"a read":                      func(ctx context.Context, s *Store) error { _, err := s.Users(ctx); return err },
		"a read past database/sql": func(ctx context.Context, s *Store) error {
			return s.db.EachRow(ctx, "SELECT name FROM users", nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withMalformedTable(t, "users")
			if err := find(t.Context(), s); core.Primary(err) == 0 {
				t.Fatalf("nothing was malformed: %v", err)
			}
			select {
			case <-s.Failed():
			default:
				t.Error("the store goes on")
			}
			if code := domain.CodeOf(s.Failure()); code != domain.CodeCorrupt {
				t.Errorf("the reason is %q", code)
			}
			if err := s.Audit(t.Context(), domain.AuditRecord{Action: "x"}); err == nil {
				t.Error("a write was acknowledged after that")
			}
		})
	}
}
