package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

var tabWords = map[string]string{"error": locale.Mark("Error"), "output": locale.Mark("Output"), "input": locale.Mark("Input"), "decision": locale.Mark("Decision"), "log": locale.Mark("Log")}

// inspector shows the chosen step; tabs are links.
func (b *runPage) inspector() view.Inspector {
	st := b.chosen
	seq := strconv.FormatInt(st.seq, 10)
	i := view.Inspector{Name: st.label(), Sub: b.kind(st.node), Status: stepStatus(st.status)}
	if n, ok := b.program.Index[st.node]; ok && b.program.Nodes[n].Timeout > 0 {
		i.Sub += " · " + b.t("timeout") + " " + b.program.Nodes[n].Timeout.String()
	}
	var a *attempt
	try := b.c.QueryParam("try")
	for n := range st.attempts {
		if text := strconv.Itoa(st.attempts[n].number); text == try || try == "" && n == len(st.attempts)-1 {
			a = &st.attempts[n]
		}
	}
	if len(st.attempts) > 1 {
		for n := range st.attempts {
			text := strconv.Itoa(st.attempts[n].number)
			i.Attempts = append(i.Attempts, view.Link{Text: text, Href: b.href(url.Values{"step": {seq}, "try": {text}}) + "#inspector", Current: &st.attempts[n] == a})
		}
	}
	if st.status == kairos.NodeInDoubt && a != nil && b.who.Role.Includes(kairos.RoleOperator) {
		what := b.t("The daemon stopped inside attempt %d of %s.", a.number, st.node)
		if a.entry.Failure != nil {
			what = b.t("Attempt %d of %s was sent, and its answer was lost.", a.number, st.node)
		}
		i.Doubt = &view.DoubtForm{What: what, Action: fmt.Sprintf("/runs/%s/nodes/%s/resolve", b.d.Run.ID, url.PathEscape(st.node)), CSRF: b.who.csrf, Idem: newID(),
			Rev: strconv.FormatInt(b.d.Run.LastSeq, 10), Node: st.node, Visit: strconv.Itoa(st.visit), Item: strconv.Itoa(st.item), Attempt: strconv.Itoa(a.number), Key: a.entry.IdempotencyKey}
	}
	tabs := []string{}
	if a != nil && a.entry.Failure != nil {
		tabs = append(tabs, "error")
	}
	tabs = append(tabs, "output", "input")
	if st.final != nil && len(st.final.Decision) > 0 {
		tabs = append(tabs, "decision")
	}
	if a != nil && len(a.entry.Log) > 0 {
		tabs = append(tabs, "log")
	}
	tab := b.c.QueryParam("tab")
	if !slices.Contains(tabs, tab) {
		tab = tabs[0]
	}
	for _, t := range tabs {
		i.Tabs = append(i.Tabs, view.Link{Text: b.t(tabWords[t]), Href: b.href(url.Values{"step": {seq}, "tab": {t}}) + "#inspector", Current: t == tab})
	}
	if a != nil {
		i.Blocks = b.blocks(st, a, tab)
	}
	if b.who.Role.Includes(kairos.RoleOperator) && st.final != nil {
		i.Actions = append(i.Actions, view.Link{Text: b.t("Fork after this step…"), Href: fmt.Sprintf("/runs/%s/fork?at=%d", b.d.Run.ID, st.final.Seq)})
	}
	return i
}

func (b *runPage) blocks(st *step, a *attempt, tab string) []view.Block {
	raw := func(part string) string { return fmt.Sprintf("/runs/%s/raw/%d/%s", b.d.Run.ID, a.entry.Seq, part) }
	switch tab {
	case "error":
		f := a.entry.Failure
		text := f.Message
		for _, more := range []string{f.Suggestion, f.Detail, f.Stack} {
			if more != "" && more != f.Message {
				text += "\n\n" + more
			}
		}
		retry := b.t("retryable")
		if f.Permanent {
			retry = b.t("permanent")
		}
		return []view.Block{{ID: "err", Title: f.Code + " · " + retry, Text: visible(text)}, block("in", b.t("Input"), a.input, raw("input"))}
	case "input":
		return []view.Block{block("in", b.t("Input"), a.input, raw("input"))}
	case "decision":
		d := decision(st.final.Decision)
		var lines []string
		for _, e := range d.Evaluated {
			line := fmt.Sprintf("%s  %s  → %s", e.Result, e.Condition, e.To)
			if e.Saw != "" {
				line += "   saw " + e.Saw
			}
			lines = append(lines, line)
		}
		for _, c := range d.Settled {
			lines = append(lines, fmt.Sprintf("%s %s %s", c.Node, c.Status, c.Reason))
		}
		switch {
		case d.To != "":
			lines = append(lines, "taken: → "+d.To)
		case d.Ended != "":
			lines = append(lines, "ended: "+d.Ended)
		}
		return []view.Block{{ID: "dec", Title: b.t("Why did it go there?"), Text: visible(strings.Join(lines, "\n"))}}
	case "log":
		return []view.Block{block("log", b.t("Log"), a.entry.Log, "")}
	}
	return []view.Block{block("out", b.t("Output"), a.entry.Output, raw("output"))}
}

// decision reads the walk's decision of a row.
func decision(j kairos.RawJSON) planner.Decision {
	var d planner.Decision
	if len(j) > 0 && json.Unmarshal(j, &d) != nil {
		return planner.Decision{}
	}
	return d
}
