package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Only the newest lines are kept. They can be filtered by level and text, secrets are removed, and
// a shortened line can still be read.
func TestTheNewestLogLinesAreKept(t *testing.T) {
	t.Parallel()
	l := &logLines{}
	log := slog.New(slog.NewJSONHandler(l, nil))
	for i := range logKept + 10 {
		log.Info("step", "n", i)
	}
	log.Warn("slow disk", "path", "/var", "key", "hunter2")
	log.Error("long", "text", strings.Repeat("x", 2*logLine))
	mask := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("••••")) }
	all := l.newest("", "", mask)
	if len(all) != logKept || !strings.HasPrefix(all[0].Message, `{"time"`) || all[1].Message != "slow disk" ||
		all[1].Facts != `{"key":"••••","path":"/var"}` ||
		all[1].At.IsZero() {
		t.Errorf("%d lines, first %.80v", len(all), fmt.Sprint(all[:2]))
	}
	if got := all[len(all)-1].Facts; got != `{"n":12}` {
		t.Errorf("the oldest is %s", got)
	}
	if got := l.newest("WARN", "", nil); len(got) != 1 || got[0].Level != "WARN" {
		t.Errorf("warnings: %v", got)
	}
	if got := l.newest("", "SLOW", nil); len(got) != 1 {
		t.Errorf("by text: %d", len(got))
	}
}
