package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A gate holds if its proofs counted something and none failed.
func TestGates(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, g := range gates {
		for _, f := range g.figures {
			all.WriteString(f + "\t3\n")
		}
	}
	all.WriteString("seeded bugs\t3\nload checkpoints per second\t2500\nload p99 microseconds\t12340\n")
	for _, tt := range []struct {
		name, figures string
		held          string
		open          string
	}{
		{"all", all.String(), "gates 8/8 | ", ""},
		{"nothing counted", "crash points\t3\n", "gates 0/8 | ", "acknowledged work lost"},
		{"a proof failed", all.String() + "failed: access\t1\n", "gates 7/8 | ", "unauthorized"},
		{"a bug was missed", all.String() + "seeded bugs\t1\n", "gates 7/8 | ", "seeded bugs missed"},
	} {
		path := filepath.Join(t.TempDir(), "figures")
		if err := os.WriteFile(path, []byte(tt.figures), 0o600); err != nil {
			t.Fatal(err)
		}
		line, open, err := card(path)
		if err != nil || !strings.HasPrefix(line, tt.held) || !strings.Contains(strings.Join(open, " "), tt.open) ||
			tt.open == "" && len(open) > 0 {
			t.Errorf("%s: %s, open %v, %v", tt.name, line, open, err)
		}
		if tt.name == "all" && !strings.Contains(line, "load 2500/s p99 12.3 ms") {
			t.Error(line)
		}
	}
}

// A document shows the newest card in its place. Nothing else changes.
func TestACardIsShown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(path, []byte("before\n"+cardBegins+"old\n"+cardEnds+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := show(path, "commit abc | gates 8/8"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	want := "before\n" + cardBegins + "```text excerpt\ncommit abc\ngates 8/8\n```\n" + cardEnds + "\nafter\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
	if err := os.WriteFile(path, []byte("no place\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := show(path, "x"); err == nil {
		t.Error("a card without a place was shown")
	}
}
