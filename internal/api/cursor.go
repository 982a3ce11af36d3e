package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
)

const macLength = 12

// PageIn is what every list takes.
type PageIn struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many at most."`
	Cursor string `query:"cursor" maxLength:"2048" doc:"nextCursor of the previous page."`
}

// seal makes the cursor of the next page. It belongs to one query of one
// principal: anything else that presents it is refused (A33).
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
	p := invalid("cursor.invalid", "this cursor does not belong to this query")
	p.Suggestion = "begin again without cursor"
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

// List is one page of a list.
type List[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor" doc:"The cursor of the next page; null on the last one."`
	HasMore    bool    `json:"hasMore" doc:"There is a next page."`
}

func listOf[S, T any](items []S, next string, view func(S) T) List[T] {
	l := List[T]{Items: make([]T, 0, len(items)), HasMore: next != ""}
	if l.HasMore {
		l.NextCursor = &next
	}
	for _, x := range items {
		l.Items = append(l.Items, view(x))
	}
	return l
}

// pageOf cuts a page out of a list that is read whole. The page begins after the item that
// the cursor names by its id.
func pageOf[S, T any](ctx context.Context, k *kernel, in *PageIn, items []S, id func(S) string, view func(S) T) (List[T], error) {
	after, err := k.unseal(ctx, in.Cursor)
	if err != nil {
		return List[T]{}, err
	}
	if after != "" {
		at := slices.IndexFunc(items, func(x S) bool { return id(x) == after })
		if at < 0 {
			return List[T]{}, badCursor()
		}
		items = items[at+1:]
	}
	next := ""
	if len(items) > in.Limit {
		items = items[:in.Limit]
		next = k.seal(ctx, id(items[in.Limit-1]))
	}
	return listOf(items, next, view), nil
}

// same shows an item as it is.
func same[T any](x T) T { return x }

func joinSorted(list []string) string {
	slices.Sort(list)
	return strings.Join(list, ", ")
}
