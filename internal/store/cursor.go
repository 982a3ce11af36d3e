package store

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

func pageLimit(n int) int {
	if n <= 0 {
		return 50
	}
	return min(n, 200)
}

var cursorEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// position is where a page begins: the id before or after its items.
func position(kind string, p domain.Page) (at int64, newer bool, err error) {
	switch {
	case p.After != "":
		at, err = openCursor(kind, p.After)
		return at, false, err
	case p.Before != "":
		at, err = openCursor(kind, p.Before)
		return at, true, err
	case p.Oldest:
		return 0, true, nil
	}
	return math.MaxInt64, false, nil
}

// filterDigest ties a cursor to its filter. Times are left out: a page that
// shows the last hour moves them with every request.
func filterDigest(f domain.RunFilter) string {
	f.Page, f.Since, f.Until = domain.Page{}, time.Time{}, time.Time{}
	b, err := json.Marshal(f)
	if err != nil { // strings, numbers and maps of them
		panic("store: " + err.Error())
	}
	h := fnv.New64a()
	h.Write(b)
	return strconv.FormatUint(h.Sum64(), 36)
}

// cursor is an opaque position in a list of one kind.
func cursor(kind string, id int64) string {
	text := strconv.FormatInt(id, 10)
	return cursorEncoding.EncodeToString([]byte(text + "." + check(kind, text)))
}

func openCursor(kind, c string) (int64, error) {
	if len(c) > 128 {
		return 0, badCursor()
	}
	b, err := cursorEncoding.DecodeString(c)
	if err != nil {
		return 0, badCursor()
	}
	text, sum, _ := strings.Cut(string(b), ".")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 || sum != check(kind, text) {
		return 0, badCursor()
	}
	return id, nil
}

func check(kind, text string) string {
	h := fnv.New32a()
	h.Write([]byte(kind + ":" + text))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

func badCursor() error {
	e := domain.Errorf(domain.CodeInvalid, "the cursor is not valid here")
	e.Reason = "cursor.invalid"
	return e.Suggest("begin with the first page")
}

// numbered is an item of a list with the number of its row.
type numbered[T any] struct {
	id   int64
	item T
}

// window cuts a page of limit+1 rows to size and gives the cursors around it.
func window[T any](rows []numbered[T], limit int, newer bool, p domain.Page, kind string) (page []T, next, prev string) {
	rows, next, prev = windowBy(rows, limit, newer, p, func(r numbered[T]) string { return cursor(kind, r.id) })
	page = make([]T, len(rows))
	for i := range rows {
		page[i] = rows[i].item
	}
	return page, next, prev
}

func windowBy[T any](items []T, limit int, newer bool, p domain.Page, at func(T) string) (page []T, next, prev string) {
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
