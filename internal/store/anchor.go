package store

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// anchor keeps the head of the audit chain outside the database, in an append-only file. It shows
// whether the database was reset to an earlier state. The database is written first, so the anchor
// may be behind, but never ahead.
type anchor struct {
	mu      sync.Mutex
	f       *os.File
	last    core.Head // in the file
	pending core.Head
	written time.Time
}

// anchorEvery is the interval at which the head is written.
const anchorEvery = time.Second

func openAnchor(path string) (*anchor, error) {
	last, err := core.ReadAnchor(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot open the audit anchor: %w", err)
	}
	return &anchor{f: f, last: last, pending: last}, nil
}

// head returns the head in the file.
func (a *anchor) head() core.Head {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// move sets a new head. It is written at once if the last write is older than anchorEvery.
func (a *anchor) move(seq int64, mac []byte, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = core.Head{Seq: seq, Mac: hex.EncodeToString(mac)}
	if since := now.Sub(a.written); since >= 0 && since < anchorEvery {
		return nil
	}
	a.written = now
	return a.flush()
}

// moveNow sets a new head and writes it immediately.
func (a *anchor) moveNow(seq int64, mac []byte, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending, a.written = core.Head{Seq: seq, Mac: hex.EncodeToString(mac)}, now
	return a.flush()
}

func (a *anchor) flush() error {
	if a.pending == a.last {
		return nil
	}
	failpoint.Hit("anchor.before")
	// A line feed first ends a line that a crash has truncated.
	if _, err := fmt.Fprintf(a.f, "\n%d %s\n", a.pending.Seq, a.pending.Mac); err != nil {
		return fmt.Errorf("write the audit anchor: %w", err)
	}
	failpoint.Hit("anchor.written")
	if err := a.f.Sync(); err != nil {
		return fmt.Errorf("write the audit anchor: %w", err)
	}
	failpoint.Hit("anchor.synced")
	a.last = a.pending
	return nil
}

func (a *anchor) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.flush(), a.f.Close())
}
