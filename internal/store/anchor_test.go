package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// After a crash at any moment, the write-ahead log is lost. The next start detects that
// acknowledged events since the last checkpoint of the log are missing, even the newest.
func TestALostLogIsNoticed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "kairos.db")
	now := time.Now() // the anchor writes at most once a second; this test moves it explicitly
	s, err := Open(ctx, path, Options{Now: func() time.Time { return now }}.Through("", 60))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	r, _, err := s.CreateRun(ctx, domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
	if err != nil {
		t.Fatal(err)
	}
	missed := 0
	for i := range int64(120) {
		e := row("a", `"`+strings.Repeat("x", 3000)+`"`)
		e.Visit = int(i) + 1
		if err := s.Commit(ctx, domain.Checkpoint{Run: r.ID, Fence: i, Entries: []domain.Entry{e}}); err != nil {
			t.Fatal(err)
		}
		if i%5 != 0 {
			continue
		}
		var acknowledged int64
		copied := filepath.Join(dir, fmt.Sprint(i), "kairos.db")
		err := s.writer.perform(func(w *writer) ([]auditRow, error) { // prevents further writes to the log
			acknowledged = w.chain.seq
			if err := os.Mkdir(filepath.Dir(copied), 0o700); err != nil {
				return nil, err
			}
			for _, suffix := range []string{"", ".key", ".anchor"} {
				if b, err := os.ReadFile(path + suffix); err != nil {
					return nil, err
				} else if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(ctx, copied, Options{})
		if err != nil {
			t.Fatal(err)
		}
		hold, err := c.Hold(ctx)
		if err != nil {
			t.Fatal(err)
		}
		last, err := c.LastEvent(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if hold != nil {
			last = hold.Last
			missed++
		}
		if last < acknowledged && hold == nil {
			t.Errorf("checkpoint %d: events %d to %d are gone, and runs go on", i, last+1, acknowledged)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if missed < 5 {
		t.Errorf("events were missed %d times", missed)
	}
}
