package ansi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/web/part/ansi"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]ansi.Part{
		"plain":                               {{Text: "plain"}},
		"a\x1b[31mred\x1b[0m b":               {{Text: "a"}, {"c1", "red"}, {Text: " b"}},
		"\x1b[1;32mok\x1b[22m ok\x1b[39m end": {{"c2 b", "ok"}, {"c2", " ok"}, {Text: " end"}},
		"\x1b[38;5;200mx\x1b[38;2;1;2;3my":    {{Text: "xy"}},
		"\x1b[mx\x1b[4mu":                     {{Text: "x"}, {"u", "u"}},
		"\x1b[2Jcleared":                      {{Text: "\x1b[2Jcleared"}},
		"cut \x1b[3":                          {{Text: "cut \x1b[3"}},
		"cut \x1b[":                           {{Text: "cut \x1b["}},
		"\x1b[99999999999999999999mx":         {{Text: "x"}},
	} {
		if d := cmp.Diff(want, ansi.Split(line)); d != "" {
			t.Errorf("%q (-want +got):\n%s", line, d)
		}
	}
}

// A line that changes its style at every letter has a limited number of parts.
func TestSplitIsBounded(t *testing.T) {
	t.Parallel()
	parts := ansi.Split(strings.Repeat("\x1b[31mx\x1b[0my", 5000))
	if len(parts) > 201 {
		t.Errorf("%d parts", len(parts))
	}
	n := 0
	for _, p := range parts {
		n += len(p.Text)
	}
	if n != 10_000 {
		t.Errorf("%d of 10000 characters are left", n)
	}
}

// For any input, no text is lost or added.
func FuzzSplit(f *testing.F) {
	f.Add("a\x1b[31mred\x1b[0m")
	f.Add("\x1b[38;5m\x1b[;;m")
	f.Fuzz(func(t *testing.T, line string) {
		var b strings.Builder
		for _, p := range ansi.Split(line) {
			b.WriteString(p.Text)
		}
		if got := b.String(); !strings.Contains(line, "\x1b[") && got != line || len(got) > len(line) {
			t.Errorf("%q became %q", line, got)
		}
	})
}
