package core

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Head is a position in the audit chain.
type Head struct {
	Seq int64
	Mac string // hex
}

// anchorTail is the number of bytes at the end of the file in which the last complete line is
// searched.
const anchorTail = 4 << 10

// ReadAnchor returns the last complete line of an anchor file. A missing file has the zero Head. A
// line that a crash truncated does not count.
func ReadAnchor(path string) (Head, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Head{}, nil
	} else if err != nil {
		return Head{}, domain.Errorf(domain.CodeUnavailable, "cannot read the audit anchor: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(max(0, size-anchorTail), io.SeekStart)
	}
	if err != nil {
		return Head{}, domain.Errorf(domain.CodeUnavailable, "cannot read the audit anchor: %w", err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return Head{}, domain.Errorf(domain.CodeUnavailable, "cannot read the audit anchor: %w", err)
	}
	var last Head
	for line := range bytes.Lines(b) {
		var h Head
		if n, err := fmt.Sscanf(string(line), "%d %s\n", &h.Seq, &h.Mac); n == 2 && err == nil && len(h.Mac) == 64 &&
			bytes.HasSuffix(line, []byte("\n")) {
			last = h
		}
	}
	return last, nil
}

// OlderThan reports whether the database lacks events that the anchor has recorded. It was then
// reset to an earlier state, and may contain other events since.
func (d *DB) OlderThan(ctx context.Context, q *dbsqlc.Queries, h Head) (bool, error) {
	if h.Seq == 0 {
		return false, nil
	}
	mac, err := q.AuditMac(ctx, h.Seq)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	} else if err != nil {
		return false, Translate(err, "compare the audit anchor")
	}
	return hex.EncodeToString(mac) != h.Mac, nil
}
