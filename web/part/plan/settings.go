package plan

import (
	"maps"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// conflictTexts state what a new run does if the limit of its concurrency key is reached. The first
// value is the key, the second the limit.
var conflictTexts = map[walk.OnConflict]string{
	walk.ConflictQueue:        locale.Mark("%[1]s: %[2]d active, others wait"),
	walk.ConflictSkip:         locale.Mark("%[1]s: %[2]d active, others are not started"),
	walk.ConflictCancelOldest: locale.Mark("%[1]s: %[2]d active, a new run cancels the oldest"),
}

// Settings returns what a version of a plan sets for its runs: labels, priority, timeout, and the
// limit of active runs with the same key.
func Settings(c *ui.Context, p *walk.Program) (facts []kit.Fact) {
	add := func(term, text string) {
		facts = append(facts, kit.Fact{Term: term, Text: kit.Escape(kit.Truncate(text, 300))})
	}
	if s := p.Start.Concurrency; s != nil {
		key, _ := s.Key.Source.(string)
		add(c.T("Concurrency"), c.T(conflictTexts[s.OnConflict], key, s.Limit))
	}
	if p.Priority != 0 {
		add(c.T("Priority"), strconv.Itoa(p.Priority))
	}
	if p.Start.Timeout > 0 {
		add(c.T("Timeout"), kit.Duration(p.Start.Timeout))
	}
	if p.Start.Labels != nil {
		labels, _ := p.Start.Labels.Source.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(labels)) {
			text, _ := labels[name].(string)
			add(c.T("Label"), name+"="+text)
		}
	}
	return facts
}
