package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

type label string

func TestMessage(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 31, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		format string
		args   []any
	}{
		{"paused", nil},
		{"%d of %s: %q", []any{3, label("runs"), `a "b"`}},
		{"%g and %.2f, %t", []any{1.5, 2.0, true}},
		{"%[2]s before %[1]d", []any{7, "it"}},
		{"%.4q is cut, 100%%", []any{"abcdefgh"}},
		{"%s after %v", []any{errors.New("broken"), 5 * time.Minute}},
		{"outer: %s", []any{New("inner %d", 1)}},
	} {
		m := New(c.format, c.args...)
		if got, want := m.String(), fmt.Sprintf(c.format, c.args...); got != want {
			t.Errorf("%q: %q, want %q", c.format, got, want)
		}
		if back := Decode(m.Encode(), ""); back.String() != m.String() {
			t.Errorf("%q: %q was stored, %q came back", c.format, m, back)
		}
	}
	if m := New("until %s", at); m.String() != "until 2030-01-31T08:00:00Z" || !Decode(m.Encode(), "").Args[0].(time.Time).Equal(at) {
		t.Error(m)
	}
	if got := Verbatim("100% of %s").String(); got != "100% of %s" {
		t.Error(got)
	}
	if Verbatim("a person's text").Encode() != "" || New("").Encode() != "" {
		t.Error("a text that is not translated is stored twice")
	}
	raw, err := json.Marshal(struct{ M Message }{New("%d steps", 2)})
	if err != nil || string(raw) != `{"M":"2 steps"}` {
		t.Error(string(raw), err)
	}
}

// The stored form of a message has a limit.
func TestMessageIsBounded(t *testing.T) {
	t.Parallel()
	m := New("%s", strings.Repeat("é", 5000))
	if n := len(m.String()); n > messageBytes+len("…") {
		t.Error(n)
	}
	deep := New("0")
	for i := range 20 {
		deep = New("%d in %s", i, deep)
	}
	if deep.depth() > messageDepth+1 {
		t.Error(deep.depth())
	}
	if m, err := decodeMessage([]byte(strings.Repeat(`["x",`, 50)+`"y"`+strings.Repeat(`]`, 50)), 0); err == nil {
		t.Error(m)
	}
}

// Verbs are found as package fmt reads them. Other text stays unchanged.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil}, {"plain", nil}, {"100%", nil}, {"5 % of it", []string{"% o"}}, {"%%%s", []string{"%%", "%s"}},
		{"%[2]-8.3q!", []string{"%[2]-8.3q"}},
		{"%[]s %d", []string{"%d"}}, {"%[1", nil}, {"%. %v", []string{"%v"}}, {"%5.x%é%T", []string{"%T"}},
		{"é%+08.2fé", []string{"%+08.2f"}},
	} {
		var got []string
		text := ""
		before, v, rest, ok := nextVerb(c.text)
		for ; ok; before, v, rest, ok = nextVerb(rest) {
			got = append(got, v.text)
			text += before + v.text
		}
		if !slices.Equal(got, c.want) || text+before != c.text {
			t.Errorf("%q: %q in %q, want %q", c.text, got, text+before, c.want)
		}
	}
	if got := New("%[0]s %[9]d %s", "a").String(); got != "%[0]s %[9]d %s" {
		t.Error(got)
	}
}
