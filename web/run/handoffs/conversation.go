package handoffs

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/run/record"
)

// conversationPart builds the lists of calls, usage, and messages.
type conversationPart struct{ *record.Record }

// build lists the calls and messages of the run's agents, with their usage.
func (b conversationPart) build(said []domain.AgentMessage) Conversation {
	var t Conversation
	b.calls(&t)
	for i, m := range said {
		if i == listedCalls {
			t.More += len(said) - i
			break
		}
		row := ConversationMessage{
			Type: string(m.Type),
			From: kit.Escape(m.From),
			To:   kit.Escape(m.To),
			Node: m.Node,
			At:   b.Time(m.Metadata.Timestamp),
			Text: record.Brief(m.Payload),
		}
		var notes []string
		if m.Metadata.IsPlanContext {
			notes = append(notes, b.T("context of step %s", m.Metadata.StepID))
		}
		if m.Metadata.Priority != "medium" {
			notes = append(notes, b.T("priority %s", m.Metadata.Priority))
		}
		if m.Metadata.RetryCount > 0 {
			notes = append(notes, b.N(m.Metadata.RetryCount, "%s earlier attempt", "%s earlier attempts"))
		}
		switch {
		case m.Metadata.Acknowledged:
			notes = append(notes, b.T("acknowledged"))
		case m.Metadata.RequiresAck:
			notes = append(notes, b.T("not acknowledged"))
		}
		row.Note = strings.Join(notes, ", ")
		t.Messages = append(t.Messages, row)
	}
	return t
}

// listedCalls is the maximum number of listed calls, and of listed messages.
const listedCalls = 500

// usedBy is the usage of a step's agents.
type usedBy struct {
	step          *record.Step
	agent         string
	models, tools int
	usage         domain.Usage
}

// calls lists model and tool calls, with totals per step and for the run.
func (b conversationPart) calls(t *Conversation) {
	type key struct {
		node        string
		visit, item int
	}
	steps := map[key]*record.Step{}
	for _, st := range b.Steps {
		steps[key{st.Node, st.Visit, st.Item}] = st
	}
	used := map[*record.Step]*usedBy{}
	var order []*usedBy
	var total usedBy
	for i := range b.Detail.Journal {
		e := &b.Detail.Journal[i]
		st := steps[key{e.Node, e.Visit, e.Item}]
		what, called := part.Call(e)
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
		c := ConversationCall{
			Seq:    strconv.FormatInt(e.Seq, 10),
			What:   kit.Escape(what),
			Agent:  kit.Escape(e.Agent),
			Step:   b.StepLink(st),
			Status: record.StepStatus(e.Status),
			At:     b.Time(e.At),
			Text:   callText(e),
		}
		if len(t.Calls) == listedCalls {
			t.More++
			continue
		}
		if !e.StartedAt.IsZero() {
			c.Took = kit.Duration(e.At.Sub(e.StartedAt))
		}
		if !e.Usage.Zero() {
			c.In, c.Out, c.Cost = b.Number(e.Usage.InputTokens), b.Number(e.Usage.OutputTokens), value.Cost(b.Context, e.Usage.Cost)
		}
		t.Calls = append(t.Calls, c)
	}
	for _, u := range order {
		row := b.node(u)
		row.Step = b.StepLink(u.step)
		t.Nodes = append(t.Nodes, row)
	}
	t.Total = b.node(&total)
	t.Total.Step.Text = b.T("All steps")
}

func (b conversationPart) node(u *usedBy) ConversationNode {
	return ConversationNode{Agent: kit.Escape(u.agent), Models: b.Number(int64(u.models)), Tools: b.Number(int64(u.tools)),
		In: b.Number(u.usage.InputTokens), Out: b.Number(u.usage.OutputTokens), Cost: value.Cost(b.Context, u.usage.Cost)}
}

// callText summarizes the result of a call: its error, the text of a response, or the requested
// tools.
func callText(e *domain.Entry) string {
	if e.Failure != nil {
		return kit.Shorten(kit.Escape(e.Failure.Message))
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
		return kit.Shorten(kit.Escape(strings.Join(parts, " · ")))
	}
	if e.Output == nil {
		return record.Brief(e.Input)
	}
	return record.Brief(e.Output)
}
