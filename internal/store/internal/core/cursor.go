package core

import (
	"encoding/base32"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// PageLimit returns the number of items on a page: the requested limit, at most 200, or 50 by
// default.
func PageLimit(n int) int {
	if n <= 0 {
		return 50
	}
	return min(n, 200)
}

// CursorEncoding is the alphabet of cursors.
var CursorEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Position returns the start of a page: the id before or after its items.
func Position(kind string, p domain.Page) (at int64, newer bool, err error) {
	switch {
	case p.After != "":
		at, err = OpenCursor(kind, p.After)
		return at, false, err
	case p.Before != "":
		at, err = OpenCursor(kind, p.Before)
		return at, true, err
	case p.Oldest:
		return 0, true, nil
	}
	return math.MaxInt64, false, nil
}

// FilterDigest identifies the filter that a cursor belongs to. Times are left out, because a page
// of the last hour moves them with every request.
func FilterDigest(f domain.RunFilter) string {
	f.Page, f.Since, f.Until = domain.Page{}, time.Time{}, time.Time{}
	b, err := json.Marshal(f)
	if err != nil { // a filter contains only strings, numbers, and maps of them
		panic("store: " + err.Error())
	}
	h := fnv.New64a()
	h.Write(b)
	return strconv.FormatUint(h.Sum64(), 36)
}

// Cursor is an opaque position in a list of one kind.
func Cursor(kind string, id int64) string {
	text := strconv.FormatInt(id, 10)
	return CursorEncoding.EncodeToString([]byte(text + "." + Check(kind, text)))
}

// OpenCursor decodes the position of a cursor. For any other text, the error is CodeInvalid.
func OpenCursor(kind, c string) (int64, error) {
	if len(c) > 128 {
		return 0, BadCursor()
	}
	b, err := CursorEncoding.DecodeString(c)
	if err != nil {
		return 0, BadCursor()
	}
	text, sum, _ := strings.Cut(string(b), ".")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 || sum != Check(kind, text) {
		return 0, BadCursor()
	}
	return id, nil
}

// Check returns the checksum of a cursor, which binds it to one kind of list.
func Check(kind, text string) string {
	h := fnv.New32a()
	h.Write([]byte(kind + ":" + text))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// BadCursor returns the error for a cursor that does not belong to this list.
func BadCursor() error {
	e := domain.Errorf(domain.CodeInvalid, "the cursor belongs to another list")
	e.Reason = "cursor.invalid"
	return e.Suggest("start with the first page")
}

// Numbered is an item of a list with its row id.
type Numbered[T any] struct {
	ID   int64
	Item T
}

// Window reduces limit+1 rows to a page and returns the cursors before and after it.
func Window[T any](rows []Numbered[T], limit int, newer bool, p domain.Page, kind string) (page []T, next, prev string) {
	rows, next, prev = WindowBy(rows, limit, newer, p, func(r Numbered[T]) string { return Cursor(kind, r.ID) })
	page = make([]T, len(rows))
	for i := range rows {
		page[i] = rows[i].Item
	}
	return page, next, prev
}

// WindowBy is Window for lists with their own cursors.
func WindowBy[T any](items []T, limit int, newer bool, p domain.Page, at func(T) string) (page []T, next, prev string) {
	more := len(items) > limit
	if more {
		items = items[:limit]
	}
	if newer {
		slices.Reverse(items)
	}
	if len(items) == 0 {
		return items, "", ""
	}
	if newer || more {
		next = at(items[len(items)-1])
	}
	if newer && more || !newer && p.After != "" {
		prev = at(items[0])
	}
	return items, next, prev
}
