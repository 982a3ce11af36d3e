package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
)

// This file is what a step asked of models: the conversation in order, put together
// from the rows of its calls. A row holds what was new in its prompt;
// the answers before it and what the tools said are rows of their own.

const (
	// shownMessages bounds the messages of a step in the inspector; the file has all.
	shownMessages = 60
	// parallelCalls is how many calls of one answer are carried out.
	parallelCalls = 8
	handoffTool   = "handoff"
)

// prompt is a conversation as it is downloaded.
type prompt struct {
	Agent       string         `json:"agent,omitempty"`
	Model       string         `json:"model,omitempty"`
	MaxTokens   int64          `json:"maxTokens,omitempty"`
	Temperature *float64       `json:"temperature,omitempty"`
	Structured  bool           `json:"structured,omitempty"`
	Tools       []offeredTool  `json:"tools,omitempty"`
	Messages    []modelMessage `json:"messages"`
	Usage       domain.Usage   `json:"usage"`
	Finish      string         `json:"finish,omitempty"`

	calls int // of models
	// guessed reports that nothing was recorded: the step's input stands for it.
	guessed bool
}

// offeredTool is a tool that the model may call, and how often it did.
type offeredTool struct {
	Name   string `json:"name"`
	Called int    `json:"called,omitempty"`
}

// modelMessage is one message of a conversation.
type modelMessage struct {
	Role   string          `json:"role"` // system, user, assistant, tool, handoff
	Agent  string          `json:"agent,omitempty"`
	Text   string          `json:"text,omitempty"`
	Calls  []toolCall      `json:"calls,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Args   string          `json:"arguments,omitempty"`
	Result domain.RawJSON  `json:"result,omitempty"`
	Failed *domain.Failure `json:"failure,omitempty"`
	Model  string          `json:"model,omitempty"`
	Finish string          `json:"finish,omitempty"`
	TookMs int64           `json:"tookMs,omitempty"`
	Usage  *domain.Usage   `json:"usage,omitempty"`

	row *domain.Entry
}

// toolCall is what a model asked for.
type toolCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// asked is what a row keeps of its prompt.
type asked struct {
	Agent, Model string
	MaxTokens    int64
	Temperature  *float64
	Structured   bool
	Tools        []string
	Messages     []struct{ Role, Text string }
}

// answered is what a row keeps of a model's answer.
type answered struct {
	Text, Model, Finish string
	Calls               []toolCall
}

// callsOf are the rows of the calls of an attempt, by number: its own, and those before it that survived a
// crash.
func (st *step) callsOf(a *attempt) map[int]*domain.Entry {
	first, last := 0, int(^uint(0)>>1)
	if a != nil {
		last = a.number
		for i := range st.attempts {
			p := &st.attempts[i]
			if p.number < a.number && p.status == domain.NodeFailed && !st.changed(first, p.number) {
				first = p.number // an error retry starts over
			}
		}
	}
	rows := map[int]*domain.Entry{}
	for _, c := range st.calls {
		if c.Attempt > first && c.Attempt <= last {
			rows[c.Substep] = c
		}
	}
	return rows
}

// changed reports whether a non-idempotent call completed in the attempts after
// first up to last: an error retry then continues behind it.
func (st *step) changed(first, last int) bool {
	return slices.ContainsFunc(st.calls, func(c *domain.Entry) bool {
		return c.Attempt > first && c.Attempt <= last && c.Effect == string(walk.EffectUnsafe) && c.Status == domain.NodeCompleted
	})
}

// conversation is one agent's part: that of the node, or one that a handoff began.
type conversation struct {
	handoff *domain.Entry
	rows    []*domain.Entry
	answer  *domain.Entry
}

// promptOf puts the conversation of an attempt together.
func promptOf(st *step, a *attempt) prompt {
	rows := st.callsOf(a)
	parts := []*conversation{{}}
	for _, n := range slices.Sorted(mapKeys(rows)) {
		e := rows[n]
		at := parts[len(parts)-1]
		switch what, _ := part.Call(e); {
		case strings.HasPrefix(what, "handoff:"):
			parts = append(parts, &conversation{handoff: e})
		case strings.HasPrefix(what, "answer:"):
			at.answer = e
		case what == "model", strings.HasPrefix(what, "tool:"):
			at.rows = append(at.rows, e)
		}
	}
	f := folding{p: &prompt{Messages: []modelMessage{}}, rows: rows, parts: parts, next: 1}
	f.part(parts[0], true)
	for f.next < len(parts) { // whose call is not there
		f.handoff()
	}
	if p := f.p; p.calls == 0 && len(p.Messages) == 0 {
		input := st.last.Input
		if a != nil {
			input = a.input
		}
		p.guessed = true
		if v, err := jsonvalue.Decode(input); err == nil && input != nil {
			p.Messages = append(p.Messages, modelMessage{Role: "user", Text: jsonvalue.Text(v)})
		}
	}
	return *f.p
}

func mapKeys(m map[int]*domain.Entry) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// folding is a conversation under construction.
type folding struct {
	p     *prompt
	rows  map[int]*domain.Entry
	parts []*conversation
	next  int // handoff that comes next
}

func (f *folding) part(c *conversation, first bool) {
	shown := map[*domain.Entry]bool{}
	for _, e := range c.rows {
		if what, _ := part.Call(e); what != "model" {
			if !shown[e] {
				f.tool(e, strings.TrimPrefix(what, "tool:"), "")
			}
			continue
		}
		var q asked
		if len(e.Input) > 0 && json.Unmarshal(e.Input, &q) != nil {
			q = asked{} // of another shape: nothing is known of it
		}
		if first {
			f.p.Agent, f.p.Model, f.p.MaxTokens, f.p.Temperature, f.p.Structured = q.Agent, q.Model, q.MaxTokens, q.Temperature,
				q.Structured
			first = false
		}
		for _, t := range q.Tools {
			if !slices.ContainsFunc(f.p.Tools, func(o offeredTool) bool { return o.Name == t }) {
				f.p.Tools = append(f.p.Tools, offeredTool{Name: t})
			}
		}
		for _, m := range q.Messages {
			f.p.Messages = append(f.p.Messages, modelMessage{Role: m.Role, Text: m.Text})
		}
		f.answer(e, q.Agent, shown)
	}
}

// answer is what the model said, and what came of the calls that it asked for.
func (f *folding) answer(e *domain.Entry, agent string, shown map[*domain.Entry]bool) {
	f.p.calls++
	m := modelMessage{
		Role:   "assistant",
		Agent:  cmp.Or(e.Agent, agent),
		TookMs: e.At.Sub(cmpTime(e.StartedAt, e.At)).Milliseconds(),
		Failed: e.Failure,
		row:    e,
	}
	if !e.Usage.Zero() {
		m.Usage = &e.Usage
		f.p.Usage = f.p.Usage.Add(e.Usage)
	}
	var said answered
	if len(e.Output) > 0 && json.Unmarshal(e.Output, &said) != nil {
		said.Text = string(e.Output)
	}
	m.Text, m.Model, m.Finish, m.Calls = said.Text, said.Model, said.Finish, said.Calls
	f.p.Model, f.p.Finish = cmp.Or(said.Model, f.p.Model), cmp.Or(said.Finish, f.p.Finish)
	f.p.Messages = append(f.p.Messages, m)
	n := e.Substep
	for i, call := range said.Calls {
		for j := range f.p.Tools {
			if f.p.Tools[j].Name == call.Tool {
				f.p.Tools[j].Called++
			}
		}
		if i >= parallelCalls {
			continue
		}
		if call.Tool == handoffTool && f.next < len(f.parts) {
			f.handoff()
			continue
		}
		n++
		if row := f.rows[n]; row != nil {
			if what, _ := part.Call(row); what == "tool:"+call.Tool {
				shown[row] = true
				f.tool(row, call.Tool, call.Arguments)
			}
		}
	}
}

func (f *folding) tool(e *domain.Entry, tool, args string) {
	f.p.Messages = append(
		f.p.Messages,
		modelMessage{
			Role:   "tool",
			Tool:   tool,
			Args:   args,
			Result: e.Output,
			Failed: e.Failure,
			TookMs: e.At.Sub(cmpTime(e.StartedAt, e.At)).Milliseconds(),
			row:    e,
		},
	)
}

// handoff is the part of another agent.
func (f *folding) handoff() {
	c := f.parts[f.next]
	f.next++
	var h struct{ From, To, Reason, Explanation string }
	if len(c.handoff.Input) > 0 && json.Unmarshal(c.handoff.Input, &h) != nil {
		h.To = c.handoff.Agent
	}
	f.p.Messages = append(f.p.Messages, modelMessage{Role: "handoff", Agent: h.To, Text: h.Explanation,
		Failed: c.handoff.Failure, row: c.handoff})
	f.part(c, false)
}

// number is the place of a tool among those that were offered; 0: it was not.
func (p *prompt) number(tool string) int {
	return slices.IndexFunc(p.Tools, func(t offeredTool) bool { return t.Name == tool }) + 1
}

var speakerWords = map[string]string{
	"system":    locale.Mark("System"),
	"user":      locale.Mark("User"),
	"assistant": locale.Mark("Assistant"),
	"tool":      locale.Mark("Tool result"),
	"handoff":   locale.Mark("Handoff"),
}

// promptTab shows the conversation of an attempt: the model and its request, with which tools, and every
// message in order.
func (b inspectorPart) promptTab(i *Inspector, st *step, a *attempt) {
	p := promptOf(st, a)
	v := &Prompt{File: fmt.Sprintf("/runs/%s/steps/%d/raw/prompt", b.d.Run.ID, st.seq)}
	if a != nil && a != &st.attempts[len(st.attempts)-1] {
		v.File += "?" + url.Values{"try": {strconv.Itoa(a.number)}}.Encode()
	}
	add := func(term, text string) {
		if text != "" {
			v.Facts = append(v.Facts, kit.Fact{Term: term, Text: kit.Visible(text)})
		}
	}
	add(b.T("Model"), p.Model)
	add(b.T("Agent"), p.Agent)
	var params []string
	if p.MaxTokens > 0 {
		params = append(params, b.T("at most %s tokens", b.Number(p.MaxTokens)))
	}
	if p.Temperature != nil {
		params = append(params, b.T("temperature %s", strconv.FormatFloat(*p.Temperature, 'f', -1, 64)))
	}
	if p.Structured {
		params = append(params, b.T("an answer that fits output_schema"))
	}
	if len(params) == 0 && p.calls > 0 {
		params = append(params, b.T("those of the provider"))
	}
	add(b.T("Parameters"), strings.Join(params, " · "))
	if p.calls > 0 {
		add(b.T("Model calls"), b.Number(int64(p.calls)))
	}
	if !p.Usage.Zero() {
		add(b.T("Tokens"), b.T("%s in, %s out", b.Number(p.Usage.InputTokens), b.Number(p.Usage.OutputTokens)))
		add(b.T("Cost"), value.Cost(b.Context, p.Usage.Cost))
	}
	add(b.T("Finish reason"), p.Finish)
	for n, t := range p.Tools {
		text := strconv.Itoa(n+1) + " " + kit.Visible(t.Name)
		if t.Called > 0 {
			text += " · " + b.N(t.Called, "called %s time", "called %s times")
		}
		v.Tools = append(v.Tools, text)
	}
	if p.guessed {
		v.Text = b.T(
			"No model call is recorded for this attempt. It has not called the model yet, or the call was interrupted. Its input is below.",
		)
	}
	for n := range p.Messages {
		if n == shownMessages {
			v.More = b.N(len(p.Messages)-n, "%s more message is in the file.", "%s more messages are in the file.")
			break
		}
		i.Blocks = append(i.Blocks, b.messageBlock(&p, n))
	}
	i.Prompt = v
}

// messageBlock is one message: its number and role, and what there is to know of it.
func (b inspectorPart) messageBlock(p *prompt, n int) kit.Block {
	m := &p.Messages[n]
	title := []string{fmt.Sprintf("%d · %s", n+1, b.T(cmp.Or(speakerWords[m.Role], locale.Mark("Message"))))}
	id := "msg-" + strconv.Itoa(n+1)
	var v kit.Block
	var says []string
	switch m.Role {
	case "tool":
		name := kit.Visible(m.Tool)
		if k := p.number(m.Tool); k > 0 {
			name = strconv.Itoa(k) + " " + name
		}
		title = append(title, name, b.T(stepStatus(m.row.Status).Word))
		if m.Failed != nil {
			v = value.Text(kit.Block{ID: id}, m.Failed.Code+": "+m.Failed.Message)
		} else {
			v = b.value(id, "", m.Result, m.row.Seq, "output")
		}
		if m.Args != "" {
			says = append(says, b.T("Arguments: %s", kit.Visible(kit.Cut(m.Args, 2000))))
		}
	case "assistant":
		var text strings.Builder
		text.WriteString(m.Text)
		for _, c := range m.Calls {
			if text.Len() > 0 {
				text.WriteString("\n")
			}
			name := c.Tool
			if k := p.number(c.Tool); k > 0 {
				name = strconv.Itoa(k) + " " + name
			}
			fmt.Fprintf(&text, "→ %s %s", name, c.Arguments)
		}
		if m.Failed != nil {
			text.WriteString(m.Failed.Code + ": " + m.Failed.Message)
			title = append(title, b.T(stepStatus(m.row.Status).Word))
		}
		v = value.Text(kit.Block{ID: id}, text.String())
		if m.Agent != "" && m.Agent != p.Agent {
			title = append(title, kit.Visible(m.Agent))
		}
		if m.Usage != nil {
			says = append(
				says,
				b.T("%s in, %s out", b.N(int(m.Usage.InputTokens), "%s token", "%s tokens"), b.Number(m.Usage.OutputTokens)),
				b.T("cost %s", value.Cost(b.Context, m.Usage.Cost)),
			)
		}
		if m.Finish != "" {
			says = append(says, b.T("finish reason %s", kit.Visible(m.Finish)))
		}
	case "handoff":
		title = append(title, "→ "+kit.Visible(m.Agent))
		v = value.Text(kit.Block{ID: id}, m.Text)
		if m.Failed != nil {
			says = append(says, kit.Visible(m.Failed.Message))
		}
	default:
		v = value.Text(kit.Block{ID: id}, m.Text)
	}
	if m.row != nil && m.Role != "handoff" {
		title = append(title, kit.Took(m.row.At.Sub(cmpTime(m.row.StartedAt, m.row.At))))
	}
	v.Title, v.Explanation = strings.Join(title, " · "), strings.Join(says, " · ")
	return v
}
