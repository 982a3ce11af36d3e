package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

// smallGraph is how many nodes a picture below the timeline may have.
const smallGraph = 60

// timelineRows bounds how many steps are listed; the rest is counted.
const timelineRows = 500

// timeline lays steps out over the run's span.
func (b *runPage) timeline(p *view.RunPage) {
	run := b.d.Run
	start := run.CreatedAt
	if len(b.steps) > 0 && b.steps[0].started.Before(start) || !run.StartedAt.IsZero() {
		start = cmpTime(run.StartedAt, start)
	}
	end := time.Now()
	if !run.EndedAt.IsZero() {
		end = run.EndedAt
	}
	for _, st := range b.steps { // a fork keeps steps that are older than itself
		if st.started.Before(start) && run.ForkedFrom == "" {
			start = st.started
		}
	}
	span := max(end.Sub(start), time.Millisecond)
	x := func(t time.Time) float64 { return min(100, max(0, float64(t.Sub(start))/float64(span)*100)) }
	for _, tick := range ticks(span) {
		p.Ticks = append(p.Ticks, view.Tick{X: percent(float64(tick) / float64(span) * 100), Label: took(tick)})
	}
	shown := b.steps
	if len(shown) > timelineRows {
		shown = shown[len(shown)-timelineRows:]
	}
	seen := map[string]bool{}
	for _, st := range b.steps {
		seen[st.node] = true
	}
	for i, st := range shown {
		row := view.StepRow{Number: strconv.Itoa(len(b.steps) - len(shown) + i + 1), Name: st.label(), Status: stepStatus(st.status),
			Href: b.href(url.Values{"step": {strconv.FormatInt(st.seq, 10)}, "try": nil, "tab": nil}) + "#inspector", Selected: st == b.chosen, Sub: st.item >= 0,
			Kind: b.kind(st.node), Notes: b.notes(st), Dim: st.status == kairos.NodeSkipped}
		if st.status == kairos.NodeRunning {
			row.Since, row.Took = st.started.UnixMilli(), took(time.Since(st.started))
		} else {
			row.Took = took(st.ended.Sub(st.started))
		}
		for _, w := range st.waits {
			until := end
			for _, a := range st.attempts {
				if a.started.After(w.At) {
					until = a.started
					break
				}
			}
			if st.final != nil && st.final.At.After(w.At) && st.final.At.Before(until) {
				until = st.final.At
			}
			row.Bars = append(row.Bars, bar(x(w.At), x(until), "g-wait", "42%", "16%"))
		}
		for _, a := range st.attempts {
			until, class := a.ended, "g-ok"
			switch a.status {
			case kairos.NodeRunning:
				until, class = end, "g-now live-bar"
			case kairos.NodeFailed, kairos.NodeInDoubt:
				class = "g-fail"
			case kairos.NodeSkipped, kairos.NodeCancelled:
				class = "g-idle"
			}
			row.Bars = append(row.Bars, bar(x(a.started), x(until), class, "28%", "44%"))
		}
		p.Steps = append(p.Steps, row)
	}
	if len(b.program.Nodes) <= timelineRows {
		for i := range b.program.Nodes {
			n := &b.program.Nodes[i]
			if seen[n.ID] {
				continue
			}
			st := notStarted(run.Status == kairos.RunCompleted)
			p.Steps = append(p.Steps, view.StepRow{Number: "–", Name: n.ID, Status: st.status, Href: b.href(url.Values{"view": {"graph"}}), Kind: b.kind(n.ID), Dim: true})
		}
	}
	for _, s := range []kairos.NodeStatus{kairos.NodeCompleted, kairos.NodeFailed, kairos.NodeRunning, kairos.NodeWaiting, kairos.NodeInDoubt, kairos.NodeSkipped, kairos.NodePending} {
		p.Legend = append(p.Legend, stepStatus(s))
	}
}

// bar is a segment at least wide enough to be seen.
func bar(from, to float64, class, y, h string) view.Bar {
	w := max(to-from, 0.4)
	return view.Bar{X: percent(min(from, 99.6)), W: percent(w), Y: y, H: h, Class: class}
}

// ticks are round times inside a span, three to six of them.
func ticks(span time.Duration) []time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute,
		5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour} {
		for _, f := range []time.Duration{1, 2, 5} {
			if step := unit * f; span/step <= 5 {
				var out []time.Duration
				for t := time.Duration(0); t < span; t += step {
					out = append(out, t)
				}
				return out
			}
		}
	}
	return nil
}

func (b *runPage) kind(node string) string {
	i, ok := b.program.Index[node]
	if !ok {
		return ""
	}
	n := &b.program.Nodes[i]
	switch {
	case n.Tool != "":
		return "tool · " + n.Tool
	case n.Agent != "":
		return n.Type + " · " + n.Agent
	}
	return n.Type
}

func (b *runPage) notes(st *step) string {
	var out []string
	if len(st.attempts) > 1 {
		out = append(out, b.n(len(st.attempts), "%s attempt", "%s attempts"))
	}
	if st.final != nil {
		if d := decision(st.final.Decision); d.To != "" {
			out = append(out, "→ "+d.To)
		} else if d.Ended != "" {
			out = append(out, "ended: "+d.Ended)
		}
	}
	if st.status == kairos.NodeWaiting && len(st.waits) > 0 {
		w := st.waits[len(st.waits)-1]
		out = append(out, w.Reason)
	}
	return strings.Join(out, " · ")
}

func decision(j kairos.RawJSON) planner.Decision {
	var d planner.Decision
	if len(j) > 0 && json.Unmarshal(j, &d) != nil {
		return planner.Decision{}
	}
	return d
}

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
