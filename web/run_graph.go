package web

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// graph is the plan's picture with what became of each node.
func (b *runPage) graph() *view.Graph {
	latest := map[string]*step{}
	count := map[string]int{}
	taken := map[int]int{}
	for _, st := range b.steps {
		if st.item < 0 || latest[st.node] == nil || st.status != kairos.NodeCompleted {
			latest[st.node] = st
		}
		count[st.node]++
		if st.final == nil {
			continue
		}
		if d := decision(st.final.Decision); d.Edge > 0 {
			taken[d.Edge-1]++
		} else if i, ok := b.program.Index[st.node]; ok && len(b.program.Nodes[i].Out) == 1 && st.status == kairos.NodeCompleted {
			taken[b.program.Nodes[i].Out[0].Position]++
		}
	}
	selected := ""
	if b.chosen != nil {
		selected = b.chosen.node
	}
	return b.graphOf(b.program, func(node string) nodeState {
		st := latest[node]
		if st == nil {
			s := notStarted(b.d.Run.Status == kairos.RunCompleted)
			s.detail = b.t(s.status.Word)
			s.href = "/plans/" + url.PathEscape(b.d.Run.PlanKey)
			return s
		}
		s := nodeState{status: stepStatus(st.status), href: b.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}}) + "#inspector"}
		s.detail = b.t(s.status.Word)
		if st.status == kairos.NodeCompleted {
			s.detail = took(st.ended.Sub(st.started))
		}
		if count[node] > 1 {
			s.detail += fmt.Sprintf(" ×%d", count[node])
		}
		return s
	}, taken, selected)
}
