package tool_test

import (
	"testing"
	"testing/synctest"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/tool"
)

// A long sleep reports progress well before it would count as hung (domain.SilentAfter).
func TestASleepReportsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set, err := tool.Builtin(tool.Config{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said []int64
		_, err = set.Call(
			t.Context(),
			"sleep",
			llm.ToolCall{Args: map[string]any{"for": "70s"}, Progress: func(done, total int64, _ string) {
				if total != 70 {
					t.Errorf("of %d s", total)
				}
				said = append(said, done)
			}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(said) != 4 || said[0] != 15 || said[3] != 60 {
			t.Errorf("it said %v", said)
		}
	})
}
