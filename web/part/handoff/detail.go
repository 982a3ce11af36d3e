package handoff

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handoff"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/detail"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// Of returns the details of a handoff: the context that was passed on, and the result.
func Of(c *ui.Context, d domain.HandoffDetail, catalog *planner.Catalog) detail.Detail {
	st := Status(d.Status)
	i := detail.Detail{
		Key:    "handoff-" + d.ID,
		Name:   kit.Escape(handoff.Short(d.Handoff)),
		Sub:    Reason(c, d.Reason),
		Status: st,
		Page:   "/handoffs/" + url.PathEscape(d.ID),
		Began:  c.Time(d.At),
	}
	add := func(term, text, href string) {
		if text != "" {
			i.Facts = append(i.Facts, kit.Fact{Term: term, Text: text, Href: href})
		}
	}
	add(c.T("Result"), c.T(st.Word), "")
	add(c.T("Given by"), kit.Escape(d.From), agent(catalog, d.From))
	if d.Giver != nil {
		name, href := step(d.Run, d.Giver)
		add(c.T("Given in"), name, href)
	}
	add(c.T("Accepted by"), kit.Escape(d.To), agent(catalog, d.To))
	if d.Receiver != nil {
		name, href := step(d.Run, d.Receiver)
		add(c.T("Accepted in"), name, href)
	}
	add(c.T("Duration"), kit.Duration(time.Duration(d.TookMs)*time.Millisecond), "")
	if !d.Usage.Zero() {
		add(c.T("Tokens"), c.Number(d.Usage.InputTokens+d.Usage.OutputTokens), "")
		add(c.T("Cost"), value.Cost(c, d.Usage.Cost), "")
	}
	add(c.T("Tools granted"), strings.Join(kit.EscapeAll(d.Tools), ", "), "")
	if d.Size > 0 {
		add(c.T("Passed on"), c.Size(d.Size), "")
		add(c.T("Keys"), strings.Join(KeysOf(PassedOn(d)), ", "), "")
		i.Facts = append(i.Facts, kit.Fact{Term: "SHA-256", Text: ShortHash(d) + "…", Mono: true})
	}
	i.Blocks = blocks(c, d)
	return i
}

// blocks returns the context, the result, and the diff between them.
func blocks(c *ui.Context, d domain.HandoffDetail) []kit.Block {
	var out []kit.Block
	if d.Context != "" {
		out = append(out, value.Text(kit.Block{ID: "task", Title: c.T("Task")}, d.Context))
	}
	given := d.Given
	switch {
	case given != nil:
		out = append(out, value.Block(c.Display.Lang, "given", c.T("Context given"), given, ""))
	case d.Context == "":
		out = append(out, kit.Block{ID: "given", Title: c.T("Context given"), Text: c.T("nothing")})
	default:
		if words, err := jsonvalue.Encode(d.Context); err == nil {
			given = words
		}
	}
	result := value.Block(c.Display.Lang, "result", c.T("Result returned"), d.Result, "")
	switch {
	case d.Failure != nil:
		result = value.Text(kit.Block{ID: "result", Title: c.T("Failure") + " · " + d.Failure.Code}, d.Failure.Message)
	case d.Result == nil && d.Status == "open":
		result.Text = c.T("Nothing has come back yet.")
	case d.Result == nil:
		result.Text = c.T("Nothing came back.")
	}
	out = append(out, result)
	if given != nil && d.Result != nil {
		v := kit.Block{ID: "became", Title: c.T("From context to result")}
		v.Diff, v.Note = value.Diff(c.Display.Lang, given, d.Result)
		out = append(out, v)
	}
	return out
}

// step returns the name of the step in which an agent took part, and its address.
func step(run string, s *domain.HandoffStep) (name, href string) {
	name = kit.StepName(s.Node, s.Visit)
	if s.Item >= 0 {
		name += fmt.Sprintf(" [%d]", s.Item)
	}
	return kit.Escape(name), fmt.Sprintf("/runs/%s?step=%d#inspector", run, s.Seq)
}

// agent returns the address of an agent's page, or an empty string if the agent is not configured.
func agent(catalog *planner.Catalog, id string) string {
	if _, ok := catalog.Agents[id]; !ok {
		return ""
	}
	return link.Agent(id)
}

// shownKeys is the maximum number of keys to list.
const shownKeys = 12

// KeysOf returns the keys of the context, if it is an object.
func KeysOf(context string) []string {
	if !strings.HasPrefix(strings.TrimSpace(context), "{") {
		return nil
	}
	v, err := jsonvalue.Decode([]byte(context))
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	out := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, kit.Escape(kit.Truncate(k, 60)))
	}
	return out[:min(len(out), shownKeys)]
}

// PassedOn returns the data of the handoff, or its text if it has no data.
func PassedOn(d domain.HandoffDetail) string {
	if d.Given != nil {
		return string(d.Given)
	}
	return d.Context
}

// ShortHash returns the beginning of the context's hash.
func ShortHash(d domain.HandoffDetail) string { return d.SHA256[:min(len(d.SHA256), 12)] }
