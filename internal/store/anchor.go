package store

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// anchor is the audit chain's head, kept outside the database: an append-only
// file that shows when the database was taken back (RELIABILITY 2.6).
type anchor struct {
	mu      sync.Mutex
	f       *os.File
	seq     int64 // last written
	mac     []byte
	pending int64
	written time.Time
}

// anchorEvery bounds how often the head is written.
const anchorEvery = time.Second

func openAnchor(path string) (*anchor, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeUnavailable, "cannot open the audit anchor: %w", err)
	}
	a := &anchor{f: f}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var seq int64
		var mac string
		// A line cut short by a crash does not parse and does not count.
		if n, err := fmt.Sscanf(lines.Text(), "%d %s", &seq, &mac); n == 2 && err == nil && len(mac) == 64 {
			a.seq = seq
		}
	}
	a.pending = a.seq
	return a, nil
}

// move notes a new head; it is written at once if the last write is old enough.
func (a *anchor) move(seq int64, mac []byte, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending, a.mac = seq, mac
	if now.Sub(a.written) < anchorEvery {
		return nil
	}
	a.written = now
	return a.flush()
}

func (a *anchor) flush() error {
	if a.pending == a.seq || a.mac == nil {
		return nil
	}
	if _, err := fmt.Fprintf(a.f, "%d %s\n", a.pending, hex.EncodeToString(a.mac)); err != nil {
		return fmt.Errorf("write the audit anchor: %w", err)
	}
	if err := a.f.Sync(); err != nil {
		return fmt.Errorf("write the audit anchor: %w", err)
	}
	a.seq = a.pending
	return nil
}

func (a *anchor) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.flush(), a.f.Close())
}
