package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// maxLanes bounds the agents that have a lane; more have names only.
	maxLanes = 8
	laneGap  = 28
	// shownContext bounds what is shown of what was passed on, in bytes.
	shownContext = 2000
	// shownKeys bounds the keys that are named of it.
	shownKeys = 12
)

// handoffs is who gave work to whom, in lanes of agents, and below it what they
// said, called and used (UI 3.3.11).
func (b *runPage) handoffs() (*view.Handoffs, error) {
	list, err := b.s.Reader.Handoffs(b.ctx, b.d.Run.ID)
	if err != nil {
		return nil, err
	}
	v := &view.Handoffs{}
	if v.Talk, err = b.talk(); err != nil {
		return nil, err
	}
	lane := func(agent string) int {
		i := slices.Index(v.Lanes, agent)
		if i < 0 && len(v.Lanes) < maxLanes {
			v.Lanes = append(v.Lanes, agent)
			i = len(v.Lanes) - 1
		}
		return i
	}
	type pair struct{ from, to string }
	open := map[pair]bool{} // a handoff the other way round is a return
	for _, h := range list {
		from, to := lane(visible(h.From)), lane(visible(h.To))
		back := open[pair{h.To, h.From}]
		delete(open, pair{h.To, h.From})
		if !back {
			open[pair{h.From, h.To}] = true
		}
		row := view.HandoffRow{Keys: keysOf(h.Context), Hash: contextHash(h.Context), Tools: b.granted(h), At: b.time(h.At), From: visible(h.From), To: visible(h.To), Reason: b.handoffReason(h.Reason), Context: visible(cut(h.Context, shownContext)), Size: size(len(h.Context)), Back: back,
			Step: view.Link{Text: h.Node, Href: b.href(url.Values{"view": {"timeline"}, "step": {h.Node}}) + "#inspector"}}
		if st := b.stepAt(h.Seq, h.Node); st != nil {
			row.Step = b.stepLink(st)
			row.Result, row.Took = st.shown(), took(st.took(b.s.now()))
			row.Open = st.final == nil && !b.d.Run.Status.Final()
			row.Cost = costText(st.usage().Cost)
		}
		if from >= 0 && to >= 0 && from != to {
			row.X1, row.X2 = laneX(from), laneX(to)
			row.Arrow = "M" + row.X1 + " 14H" + strconv.Itoa(to*laneGap+14+head(from, to))
			row.Tip = "M" + row.X2 + " 14l" + strconv.Itoa(head(from, to)) + " -4v8z"
		}
		v.Rows = append(v.Rows, row)
	}
	for i := range v.Lanes {
		v.X = append(v.X, laneX(i))
	}
	v.Width = strconv.Itoa(len(v.Lanes) * laneGap)
	return v, nil
}

// granted are the tools that were offered to who received work: those of the first
// question to its model afterwards, as it was recorded; none, where nothing was.
func (b *runPage) granted(h kairos.Handoff) []string {
	if h.Seq < 1 || h.Seq > int64(len(b.d.Journal)) {
		return nil
	}
	at := &b.d.Journal[h.Seq-1]
	for i := range b.d.Journal[h.Seq-1:] {
		e := &b.d.Journal[int(h.Seq)-1+i]
		if e.Node != at.Node || e.Visit != at.Visit || e.Item != at.Item || len(e.Input) == 0 {
			continue
		}
		var q asked
		if what, ok := callOf(e); ok && what == "model" && json.Unmarshal(e.Input, &q) == nil && q.Agent == h.To {
			out := make([]string, len(q.Tools))
			for j, t := range q.Tools {
				out[j] = visible(t)
			}
			return out
		}
	}
	return nil
}

// keysOf are the keys of what was passed on, if it is an object.
func keysOf(context string) []string {
	if !strings.HasPrefix(strings.TrimSpace(context), "{") {
		return nil
	}
	v, err := planner.DecodeValue([]byte(context))
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	out := make([]string, 0, len(m))
	for _, k := range sorted(m) {
		out = append(out, visible(cut(k, 60)))
	}
	return out[:min(len(out), shownKeys)]
}

// contextHash tells what was passed on apart from anything else.
func contextHash(context string) string {
	if context == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(context))
	return hex.EncodeToString(sum[:6])
}

func laneX(i int) string { return strconv.Itoa(i*laneGap + 14) }

// head is how far an arrow's head reaches back.
func head(from, to int) int {
	if from < to {
		return -6
	}
	return 6
}

// stepAt is the step that a journal row belongs to; else the last of its node.
func (b *runPage) stepAt(seq int64, node string) *step {
	if seq > 0 && seq <= int64(len(b.d.Journal)) {
		e := &b.d.Journal[seq-1]
		for _, st := range b.steps {
			if st.key() == (visitKey{e.Node, e.Visit, e.Item}) {
				return st
			}
		}
	}
	for _, st := range slices.Backward(b.steps) {
		if st.node == node {
			return st
		}
	}
	return nil
}

// usage is what a step's calls and result used.
func (st *step) usage() kairos.Usage {
	var u kairos.Usage
	for _, c := range st.calls {
		u = u.Add(c.Usage)
	}
	if st.final != nil {
		u = u.Add(st.final.Usage)
	}
	return u
}
