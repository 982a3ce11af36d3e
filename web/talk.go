package web

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/view"
)

// talk shows what the run's agents and models did: what they called, used and
// said to each other.
func (b *runPage) talk(said []domain.Message) view.Talk {
	var t view.Talk
	b.calls(&t)
	for i, m := range said {
		if i == talkCalls {
			t.More += len(said) - i
			break
		}
		row := view.TalkMessage{Type: string(m.Type), From: visible(m.From), To: visible(m.To), Node: m.Node, At: b.time(m.Metadata.Timestamp), Text: brief(m.Payload)}
		var notes []string
		if m.Metadata.IsPlanContext {
			notes = append(notes, b.t("context of step %s", m.Metadata.StepID))
		}
		if m.Metadata.Priority != "medium" {
			notes = append(notes, b.t("priority %s", m.Metadata.Priority))
		}
		if m.Metadata.RetryCount > 0 {
			notes = append(notes, b.n(m.Metadata.RetryCount, "%s attempt before", "%s attempts before"))
		}
		switch {
		case m.Metadata.Acknowledged:
			notes = append(notes, b.t("acknowledged"))
		case m.Metadata.RequiresAck:
			notes = append(notes, b.t("not acknowledged"))
		}
		row.Note = strings.Join(notes, ", ")
		t.Messages = append(t.Messages, row)
	}
	return t
}

// talkCalls bounds the calls and the messages listed.
const talkCalls = 500

// usedBy sums what a step's agents used.
type usedBy struct {
	step          *step
	agent         string
	models, tools int
	usage         domain.Usage
}

// calls lists model and tool calls, and sums them per step and for the run.
func (b *runPage) calls(t *view.Talk) {
	type key struct {
		node        string
		visit, item int
	}
	steps := map[key]*step{}
	for _, st := range b.steps {
		steps[key{st.node, st.visit, st.item}] = st
	}
	used := map[*step]*usedBy{}
	var order []*usedBy
	var total usedBy
	for i := range b.d.Journal {
		e := &b.d.Journal[i]
		st := steps[key{e.Node, e.Visit, e.Item}]
		what, called := callOf(e)
		if st == nil || !called && e.Usage.Zero() && (e.Agent == "" || used[st] == nil) {
			continue
		}
		u := used[st]
		if u == nil {
			u = &usedBy{step: st}
			used[st] = u
			order = append(order, u)
		}
		u.agent = cmp.Or(e.Agent, u.agent)
		u.usage, total.usage = u.usage.Add(e.Usage), total.usage.Add(e.Usage)
		if !called {
			continue
		}
		switch {
		case what == "model":
			u.models++
			total.models++
		case strings.HasPrefix(what, "tool:"):
			u.tools++
			total.tools++
		}
		c := view.TalkCall{Seq: strconv.FormatInt(e.Seq, 10), What: visible(what), Agent: visible(e.Agent), Step: b.stepLink(st), Status: stepStatus(e.Status), At: b.time(e.At), Text: callText(e)}
		if len(t.Calls) == talkCalls {
			t.More++
			continue
		}
		if !e.StartedAt.IsZero() {
			c.Took = took(e.At.Sub(e.StartedAt))
		}
		if !e.Usage.Zero() {
			c.In, c.Out, c.Cost = b.number(e.Usage.InputTokens), b.number(e.Usage.OutputTokens), b.cost(e.Usage.Cost)
		}
		t.Calls = append(t.Calls, c)
	}
	for _, u := range order {
		row := b.talkNode(u)
		row.Step = b.stepLink(u.step)
		t.Nodes = append(t.Nodes, row)
	}
	t.Total = b.talkNode(&total)
	t.Total.Step.Text = b.t("All steps")
}

func (b *runPage) talkNode(u *usedBy) view.TalkNode {
	return view.TalkNode{Agent: visible(u.agent), Models: b.number(int64(u.models)), Tools: b.number(int64(u.tools)),
		In: b.number(u.usage.InputTokens), Out: b.number(u.usage.OutputTokens), Cost: b.cost(u.usage.Cost)}
}

func (b *runPage) stepLink(st *step) view.Link {
	return view.Link{Text: st.label(), Href: b.href(url.Values{"view": {"timeline"}, "step": {strconv.FormatInt(st.seq, 10)}, "handoff": nil}) + "#inspector"}
}

// callText is what came of a call, briefly: an answer's text, or the tools that
// it asks for.
func callText(e *domain.Entry) string {
	if e.Failure != nil {
		return shortened(visible(e.Failure.Message))
	}
	var answer struct {
		Text  string
		Calls []struct{ Tool, Arguments string }
	}
	if e.Kind == domain.EntrySubstep && json.Unmarshal(e.Output, &answer) == nil && (answer.Text != "" || len(answer.Calls) > 0) {
		parts := []string{}
		if answer.Text != "" {
			parts = append(parts, answer.Text)
		}
		for _, c := range answer.Calls {
			parts = append(parts, c.Tool+" "+c.Arguments)
		}
		return shortened(visible(strings.Join(parts, " · ")))
	}
	if e.Output == nil {
		return brief(e.Input)
	}
	return brief(e.Output)
}

// brief is a value as one short text.
func brief(raw domain.RawJSON) string {
	if raw == nil {
		return ""
	}
	v, err := jsonvalue.Decode(raw)
	if err != nil {
		return shortened(visible(string(raw)))
	}
	return shortened(visible(jsonvalue.Text(v)))
}
