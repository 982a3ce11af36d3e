package recovery

import (
	"context"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

func putVersion(tb testing.TB, s *store.Store, key, hash string) domain.Version {
	tb.Helper()
	_, v, _, err := s.PutVersion(
		context.Background(),
		domain.NewVersion{Key: key, Name: key, Hash: hash, Kind: "graph", Format: "yaml", Origin: "cli",
			Semantics: 1, Source: []byte("id: " + key), Canonical: []byte("{}"), Author: "t"},
		domain.System,
	)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// alter changes the file of a closed store, as another program could.
func alter(t *testing.T, path, text string) error {
	t.Helper()
	pool, err := core.OpenPlain(path, "&_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(text)
	return err
}

func row(node, output string) domain.Entry {
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: -1, Attempt: 1, Status: domain.NodeCompleted, Final: true,
		Output: domain.RawJSON(output), At: time.Now()}
}
