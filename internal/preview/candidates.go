package preview

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// candidate is a settled row that a fork may keep, with its input.
type candidate struct {
	*domain.Entry
	input domain.RawJSON
	// same is true if the input equals the output (set, log) or last (noop).
	same bool
}

// candidates lists the final rows up to a position that later resets did not remove.
func (v *View) candidates(at int64) []candidate { return v.candidatesOf(v.Journal, at) }

// recorded lists all final rows as written, including those after damage.
func (v *View) recorded() []candidate {
	return v.candidatesOf(slices.Concat(v.Journal, v.After), v.Run.LastSeq)
}

func (v *View) candidatesOf(rows []domain.Entry, at int64) []candidate {
	inputs := map[string]domain.RawJSON{}
	name := func(node string, visit, item int) string { return fmt.Sprintf("%s\x00%d\x00%d", node, visit, item) }
	var list []candidate
	for i := range rows {
		e := &rows[i]
		if e.Seq > at {
			break
		}
		switch e.Kind {
		case domain.EntryIntent, domain.EntryWait:
			if e.Substep == 0 && e.Input != nil {
				inputs[name(e.Node, e.Visit, e.Item)] = e.Input
			}
		case domain.EntryReset:
			var r walk.Reset
			if json.Unmarshal(e.Decision, &r) != nil {
				continue // the fold has already checked the row
			}
			list = slices.DeleteFunc(list, func(c candidate) bool {
				of := func(v walk.ResetVisit) bool { return v.Node == c.Node && v.Visit == c.Visit }
				return slices.ContainsFunc(r.Forgotten, of) || slices.ContainsFunc(r.Reopened, func(v walk.ResetVisit) bool {
					return of(v) && (c.Item == runstate.NoItem || slices.Contains(v.Items, c.Item))
				})
			})
		case domain.EntryReplan:
			var r runstate.Replan
			if json.Unmarshal(e.Decision, &r) != nil {
				continue // the fold has already checked the row
			}
			list = keptDecisions(r, list)
		case domain.EntryResult:
			if !e.Final {
				continue
			}
			c := candidate{Entry: e, input: e.Input}
			if c.input == nil {
				c.input = inputs[name(e.Node, e.Visit, e.Item)]
			}
			if n, ok := v.Program.Index[e.Node]; ok && c.input == nil && runstate.Builtin(v.Program.Nodes[n].Type) {
				c.input, c.same = e.Output, true
			}
			list = append(list, c)
		}
	}
	return list
}

// keptDecisions returns the rows that a replan kept, with their decisions.
func keptDecisions(r runstate.Replan, list []candidate) []candidate {
	kept := make(map[int64]domain.RawJSON, len(r.Kept))
	for _, k := range r.Kept {
		kept[k.Seq] = k.Decision
	}
	list = slices.DeleteFunc(list, func(c candidate) bool { _, ok := kept[c.Seq]; return !ok })
	for i, c := range list {
		if d := kept[c.Seq]; d != nil {
			row := *c.Entry
			row.Decision = d
			list[i].Entry = &row
		}
	}
	return list
}
