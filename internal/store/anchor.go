package store

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/failpoint"
)

// head is a position in the audit chain.
type head struct {
	seq int64
	mac string // hex
}

// anchor is the audit chain's head, kept outside the database: an append-only
// file that shows when the database was taken back (RELIABILITY 2.6). The
// database is written first, so that the anchor may lag, never lead.
type anchor struct {
	mu      sync.Mutex
	f       *os.File
	last    head // in the file
	pending head
	written time.Time
}

const (
	// anchorEvery bounds how often the head is written.
	anchorEvery = time.Second
	// anchorTail is how much of the file is read to find its last whole line.
	anchorTail = 4 << 10
)

// readAnchor gives the last whole line of an anchor file; a missing file has
// none. A line cut short by a crash does not count.
func readAnchor(path string) (head, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return head{}, nil
	} else if err != nil {
		return head{}, domain.Errorf(domain.CodeUnavailable, "cannot read the audit anchor: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(max(0, size-anchorTail), io.SeekStart)
	}
	if err != nil {
		return head{}, domain.Errorf(domain.CodeUnavailable, "cannot read the audit anchor: %w", err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return head{}, domain.Errorf(domain.CodeUnavailable, "cannot read the audit anchor: %w", err)
	}
	var last head
	for line := range bytes.Lines(b) {
		var h head
		if n, err := fmt.Sscanf(string(line), "%d %s\n", &h.seq, &h.mac); n == 2 && err == nil && len(h.mac) == 64 && bytes.HasSuffix(line, []byte("\n")) {
			last = h
		}
	}
	return last, nil
}

func openAnchor(path string) (*anchor, error) {
	last, err := readAnchor(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot open the audit anchor: %w", err)
	}
	return &anchor{f: f, last: last, pending: last}, nil
}

// head is what the file says.
func (a *anchor) head() head {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// move notes a new head; it is written at once if the last write is old enough.
func (a *anchor) move(seq int64, mac []byte, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = head{seq, hex.EncodeToString(mac)}
	if since := now.Sub(a.written); since >= 0 && since < anchorEvery {
		return nil
	}
	a.written = now
	return a.flush()
}

// moveNow notes a new head and writes it, however short ago the last was written.
func (a *anchor) moveNow(seq int64, mac []byte, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending, a.written = head{seq, hex.EncodeToString(mac)}, now
	return a.flush()
}

func (a *anchor) flush() error {
	if a.pending == a.last {
		return nil
	}
	failpoint.Hit("anchor.before")
	// A line feed first ends a line that a crash has cut short.
	if _, err := fmt.Fprintf(a.f, "\n%d %s\n", a.pending.seq, a.pending.mac); err != nil {
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
