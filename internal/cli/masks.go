package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// masks are the values that nobody may read. They only grow, over every
// configuration since the start: what was a secret once is in what is stored, and
// in calls that are under way. The zero value masks nothing.
type masks struct {
	mu  sync.Mutex
	now atomic.Pointer[[]masked] // longest first
}

// masked is a value in one of its forms, and what is read in its place.
type masked struct {
	value []byte
	rule  string
	shown []byte
}

// dots stand for a value that nobody may read.
const dots = "••••"

// ruleName is what a mask may name: it stands in JSON, in addresses and in logs.
var ruleName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// show chooses what is read in place of values: dots and the name of the rule (UI
// 3.2.10). A name that holds a secret itself is left out, or masking what is masked
// already would go on and on.
func show(list []masked) {
	for i, m := range list {
		list[i].shown = []byte(dots)
		named := []byte(dots + " by rule " + m.rule)
		if ruleName.MatchString(m.rule) && !slices.ContainsFunc(list, func(o masked) bool { return bytes.Contains(named, o.value) }) {
			list[i].shown = named
		}
	}
}

// add masks the value of a rule from now on, in every form that it takes in what is
// stored: as it is, inside JSON, inside an address, and encoded as credentials are.
func (m *masks) add(rule, value string) {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value))}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	for _, html := range []bool{true, false} {
		plain.Reset()
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil {
			forms = append(forms, strings.Trim(strings.TrimSuffix(plain.String(), "\n"), `"`))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.list())
	for _, f := range forms {
		list = append(list, masked{value: []byte(f), rule: rule})
	}
	// The longest is masked first: one may be a part of another.
	slices.SortStableFunc(list, func(a, b masked) int {
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), bytes.Compare(a.value, b.value))
	})
	list = slices.CompactFunc(list, func(a, b masked) bool { return bytes.Equal(a.value, b.value) })
	show(list)
	m.now.Store(&list)
}

func (m *masks) list() []masked {
	if list := m.now.Load(); list != nil {
		return *list
	}
	return nil
}

// Mask replaces every secret value by dots and the name of its rule.
func (m *masks) Mask(text []byte) []byte {
	for _, secret := range m.list() {
		if bytes.Contains(text, secret.value) {
			text = bytes.ReplaceAll(text, secret.value, secret.shown)
		}
	}
	return text
}

// logger masks everything that is logged.
func (m *masks) logger(l *slog.Logger) *slog.Logger { return slog.New(maskedLog{l.Handler(), m}) }

// maskedLog is a log handler in front of which secrets are masked.
type maskedLog struct {
	slog.Handler
	m *masks
}

func (h maskedLog) Handle(ctx context.Context, r slog.Record) error {
	if len(h.m.list()) == 0 {
		return h.Handler.Handle(ctx, r)
	}
	out := slog.NewRecord(r.Time, r.Level, h.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h maskedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return maskedLog{h.Handler.WithAttrs(masked), h.m}
}

func (h maskedLog) WithGroup(name string) slog.Handler {
	return maskedLog{h.Handler.WithGroup(name), h.m}
}

func (h maskedLog) text(s string) string { return string(h.m.Mask([]byte(s))) }

func (h maskedLog) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.text(v.String()))
	case slog.KindAny:
		// Whatever it is, its text is what would be read.
		text := fmt.Sprint(v.Any())
		if masked := h.text(text); masked != text {
			return slog.String(a.Key, masked)
		}
	case slog.KindGroup:
		group := make([]any, 0, len(v.Group()))
		for _, g := range v.Group() {
			group = append(group, h.attr(g))
		}
		return slog.Group(a.Key, group...)
	}
	return a
}
