package step

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/prompt"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/run/record"
)

// shownMessages is the maximum number of messages in the inspector. The download contains all
// messages.
const shownMessages = 60

// callsOf returns the rows of the calls in an attempt's conversation, by number. It includes
// earlier calls whose results survived a crash.
func callsOf(st *record.Step, a *record.Attempt) map[int]*domain.Entry {
	first, last := 0, int(^uint(0)>>1)
	if a != nil {
		last = a.Number
		for i := range st.Attempts {
			p := &st.Attempts[i]
			if p.Number < a.Number && p.Status == domain.NodeFailed && !changed(st, first, p.Number) {
				first = p.Number // a retry after a failure starts over
			}
		}
	}
	rows := map[int]*domain.Entry{}
	for _, c := range st.Calls {
		if c.Attempt > first && c.Attempt <= last {
			rows[c.Substep] = c
		}
	}
	return rows
}

// changed reports whether a non-idempotent call completed in the attempts after first up to last.
// In that case, a retry continues after the call.
func changed(st *record.Step, first, last int) bool {
	return slices.ContainsFunc(st.Calls, func(c *domain.Entry) bool {
		return c.Attempt > first && c.Attempt <= last && c.Effect == string(walk.EffectUnsafe) && c.Status == domain.NodeCompleted
	})
}

// promptOf returns the conversation of an attempt.
func promptOf(st *record.Step, a *record.Attempt) prompt.Conversation {
	input := st.Last.Input
	if a != nil {
		input = a.Input
	}
	return prompt.Of(callsOf(st, a), input)
}

var speakerWords = map[string]string{
	"system":    locale.Mark("System"),
	"user":      locale.Mark("User"),
	"assistant": locale.Mark("Assistant"),
	"tool":      locale.Mark("Tool result"),
	"handoff":   locale.Mark("Handoff"),
}

// promptTab shows the conversation of an attempt: the model, its parameters, the offered tools, and
// the messages in order.
func (b inspectorPart) promptTab(i *Inspector, st *record.Step, a *record.Attempt) {
	p := promptOf(st, a)
	v := &Prompt{File: fmt.Sprintf("/runs/%s/steps/%d/raw/prompt", b.Detail.Run.ID, st.Seq)}
	if a != nil && a != &st.Attempts[len(st.Attempts)-1] {
		v.File += "?" + url.Values{"try": {strconv.Itoa(a.Number)}}.Encode()
	}
	add := func(term, text string) {
		if text != "" {
			v.Facts = append(v.Facts, kit.Fact{Term: term, Text: kit.Escape(text)})
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
	if len(params) == 0 && p.Calls > 0 {
		params = append(params, b.T("those of the provider"))
	}
	add(b.T("Parameters"), strings.Join(params, " · "))
	if p.Calls > 0 {
		add(b.T("Model calls"), b.Number(int64(p.Calls)))
	}
	if !p.Usage.Zero() {
		add(b.T("Tokens"), b.T("%s in, %s out", b.Number(p.Usage.InputTokens), b.Number(p.Usage.OutputTokens)))
		add(b.T("Cost"), value.Cost(b.Context, p.Usage.Cost))
	}
	add(b.T("Finish reason"), p.Finish)
	for n, t := range p.Tools {
		text := strconv.Itoa(n+1) + " " + kit.Escape(t.Name)
		if t.Called > 0 {
			text += " · " + b.N(t.Called, "called %s time", "called %s times")
		}
		v.Tools = append(v.Tools, text)
	}
	if p.Guessed {
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

// messageBlock returns one message, with its number, role, and metadata.
func (b inspectorPart) messageBlock(p *prompt.Conversation, n int) kit.Block {
	m := &p.Messages[n]
	title := []string{fmt.Sprintf("%d · %s", n+1, b.T(cmp.Or(speakerWords[m.Role], locale.Mark("Message"))))}
	id := "msg-" + strconv.Itoa(n+1)
	var v kit.Block
	var says []string
	switch m.Role {
	case "tool":
		name := kit.Escape(m.Tool)
		if k := p.Number(m.Tool); k > 0 {
			name = strconv.Itoa(k) + " " + name
		}
		title = append(title, name, b.T(record.StepStatus(m.Row.Status).Word))
		if m.Failed != nil {
			v = value.Text(kit.Block{ID: id}, m.Failed.Code+": "+m.Failed.Message)
		} else {
			v = b.ValueOf(id, "", m.Result, m.Row.Seq, "output")
		}
		if m.Args != "" {
			says = append(says, b.T("Arguments: %s", kit.Escape(kit.Truncate(m.Args, 2000))))
		}
	case "assistant":
		var text strings.Builder
		text.WriteString(m.Text)
		for _, c := range m.Calls {
			if text.Len() > 0 {
				text.WriteString("\n")
			}
			name := c.Tool
			if k := p.Number(c.Tool); k > 0 {
				name = strconv.Itoa(k) + " " + name
			}
			fmt.Fprintf(&text, "→ %s %s", name, c.Arguments)
		}
		if m.Failed != nil {
			text.WriteString(m.Failed.Code + ": " + m.Failed.Message)
			title = append(title, b.T(record.StepStatus(m.Row.Status).Word))
		}
		v = value.Text(kit.Block{ID: id}, text.String())
		if m.Agent != "" && m.Agent != p.Agent {
			title = append(title, kit.Escape(m.Agent))
		}
		if m.Usage != nil {
			says = append(
				says,
				b.T("%s in, %s out", b.N(int(m.Usage.InputTokens), "%s token", "%s tokens"), b.Number(m.Usage.OutputTokens)),
				b.T("cost %s", value.Cost(b.Context, m.Usage.Cost)),
			)
		}
		if m.Finish != "" {
			says = append(says, b.T("finish reason %s", kit.Escape(m.Finish)))
		}
	case "handoff":
		title = append(title, "→ "+kit.Escape(m.Agent))
		v = value.Text(kit.Block{ID: id}, m.Text)
		if m.Failed != nil {
			says = append(says, kit.Escape(m.Failed.Message))
		}
	default:
		v = value.Text(kit.Block{ID: id}, m.Text)
	}
	if m.Row != nil && m.Role != "handoff" {
		title = append(title, kit.Duration(m.Row.At.Sub(record.TimeOr(m.Row.StartedAt, m.Row.At))))
	}
	v.Title, v.Explanation = strings.Join(title, " · "), strings.Join(says, " · ")
	return v
}
