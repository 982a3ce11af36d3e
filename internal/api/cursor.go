package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/filter"
)

const macLength = 12

// PageIn has the parameters of every list.
type PageIn struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The maximum number of items of a page."`
	Cursor string `query:"cursor" maxLength:"2048" doc:"The nextCursor of the previous page."`
}

// LongPageIn has the parameters of lists with small items.
type LongPageIn struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"The maximum number of items of a page."`
	Cursor string `query:"cursor" maxLength:"2048" doc:"The nextCursor of the previous page."`
	FilterIn
}

// FilterIn selects items of a list.
type FilterIn struct {
	Filter string `query:"filter" maxLength:"4096" doc:"Fields and words, like status:failed marta. A dash excludes, and commas separate alternatives."`
}

// parseTime reads a time in a query: 24h or 7d before now, or a time.
func parseTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := filter.Moment(text, time.Now())
	if err != nil {
		p := invalid("time.invalid", "%s: %w", name, err)
		p.Suggestion = "use 24h, 7d, or 2030-01-31T08:00:00Z"
		return t, p
	}
	return t, nil
}

// position returns the number in a cursor, or 0 without a cursor.
func (k *kernel) position(ctx context.Context, cursor string) (int64, error) {
	text, err := k.unseal(ctx, cursor)
	if err != nil || text == "" {
		return 0, err
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, badCursor()
	}
	return after, nil
}

// sealPosition seals a position. It returns "" for 0, the end of the list.
func (k *kernel) sealPosition(ctx context.Context, next int64) string {
	if next == 0 {
		return ""
	}
	return k.seal(ctx, strconv.FormatInt(next, 10))
}

// ListIn has the parameters of lists that are filtered in memory.
type ListIn struct {
	PageIn
	FilterIn
}

// seal creates the cursor of the next page. Only the same query of the same principal accepts it.
func (k *kernel) seal(ctx context.Context, next string) string {
	if next == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(k.mac(ctx, next), next...))
}

func (k *kernel) unseal(ctx context.Context, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(raw) > macLength && hmac.Equal(raw[:macLength], k.mac(ctx, string(raw[macLength:]))) {
		return string(raw[macLength:]), nil
	}
	return "", badCursor()
}

func badCursor() *Problem {
	p := invalid("cursor.invalid", "the cursor belongs to another query")
	p.Suggestion = "start again without a cursor"
	return p
}

func (k *kernel) mac(ctx context.Context, next string) []byte {
	info := infoOf(ctx)
	m := hmac.New(sha256.New, k.cursorKey)
	parts := []string{info.actor.Name}
	if u := info.request.URL; u != nil {
		parts = append(parts, u.Path)
		q := u.Query()
		for k, values := range q {
			if k != "cursor" && k != "limit" {
				parts = append(parts, k+"="+strings.Join(values, "\x01"))
			}
		}
		slices.Sort(parts[2:])
	}
	for _, p := range append(parts, next) {
		m.Write([]byte(p))
		m.Write([]byte{0})
	}
	return m.Sum(nil)[:macLength]
}

func listOf[S, T any](items []S, next string, view func(S) T) apitypes.List[T] {
	l := apitypes.List[T]{Items: make([]T, 0, len(items)), HasMore: next != ""}
	if l.HasMore {
		l.NextCursor = &next
	}
	for _, x := range items {
		l.Items = append(l.Items, view(x))
	}
	return l
}

// pageOf returns a page of a list that was read completely. The page begins after the item whose id
// is in the cursor.
func pageOf[S, T any](ctx context.Context, k *kernel, in *ListIn, items []S, id func(S) string, view func(S) T) (apitypes.List[T], error) {
	var none apitypes.List[T]
	after, err := k.unseal(ctx, in.Cursor)
	if err != nil {
		return none, err
	}
	if after != "" {
		at := slices.IndexFunc(items, func(x S) bool { return id(x) == after })
		if at < 0 {
			return none, badCursor()
		}
		items = items[at+1:]
	}
	if items, err = filter.Select(in.Filter, items, view); err != nil {
		return none, err
	}
	next := ""
	if len(items) > in.Limit {
		items = items[:in.Limit]
		next = k.seal(ctx, id(items[in.Limit-1]))
	}
	return listOf(items, next, view), nil
}

// same returns an item unchanged.
func same[T any](x T) T { return x }

func joinSorted(list []string) string {
	slices.Sort(list)
	return strings.Join(list, ", ")
}
