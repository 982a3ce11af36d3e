package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/view"
)

const (
	// shownCalls bounds the calls of a step in the inspector.
	shownCalls = 40
	// shownLog bounds the lines of a log in the inspector.
	shownLog = 200
)

// blocks are what a tab of the inspector shows.
func (b *runPage) blocks(st *step, a *attempt, tab string) []view.Block {
	switch tab {
	case "error":
		return b.errorBlocks(a)
	case "decision", "evaluation":
		return b.decisionBlocks(st)
	case "calls":
		return b.callBlocks(st)
	case "change":
		return []view.Block{b.changeBlock(st)}
	case "definition":
		return []view.Block{b.definition(st.node)}
	}
	entry, input := &st.last, st.last.Input
	if a != nil {
		entry, input = &a.entry, a.input
	}
	if tab == "input" {
		return []view.Block{b.source(st, b.value("in", b.t("Input"), input, entry.Seq, "input"))}
	}
	out := b.source(st, b.value("out", b.t("Output"), entry.Output, entry.Seq, "output"))
	if entry.Output == nil {
		switch st.status {
		case domain.NodeRunning:
			out.Text = b.t("It still runs.")
		case domain.NodeWaiting:
			out.Text = b.t("It waits.")
		case domain.NodeSkipped:
			out.Text = b.t("It was skipped.")
		}
	}
	return []view.Block{out}
}

// source leads from a value that a fork took over to the step that it is of.
func (b *runPage) source(st *step, v view.Block) view.Block {
	if from := b.d.Run.ForkedFrom; st.reused && from != "" {
		v.More = append(v.More, view.Link{Text: b.t("Reused from run %s: open the step there", domain.ShortID(from)), Href: "/runs/" + from + "?" + url.Values{"step": {stepName(st.node, st.visit)}}.Encode() + "#inspector"})
	}
	return v
}

// value shows a value of a journal row, with ways to the rest of it.
func (b *runPage) value(id, title string, j domain.RawJSON, seq int64, part string) view.Block {
	v := b.reading().Block(id, title, j, fmt.Sprintf("/runs/%s/raw/%d/%s", b.d.Run.ID, seq, part))
	if v.Note != "" {
		page := fmt.Sprintf("/runs/%s/steps/%d?part=%s", b.d.Run.ID, seq, part)
		v.More = []view.Link{{Text: b.t("Show more"), Href: page}, {Text: b.t("Show the end"), Href: page + "&from=end"}}
	}
	return v
}

// findFrom is from how many lines of values on one looks for a text in them.
const findFrom = 12

// reading is how this page's address says that values are read.
func (b *runPage) reading() value.Reading {
	nth, err := strconv.Atoi(b.c.QueryParam("nth"))
	if err != nil || nth < 0 {
		nth = 0
	}
	return value.Reading{Lang: b.display.lang, Find: strings.TrimSpace(b.c.QueryParam("find")), Into: b.c.QueryParam("into"), Nth: nth, Href: func(set url.Values) string {
		if b.view == "timeline" || b.view == "graph" {
			return b.href(set) + "#inspector"
		}
		return b.href(set)
	}}
}

// findForm looks for a text in values; nil when there is nothing to look into.
func (b *runPage) findForm(blocks []view.Block) *view.FindForm {
	f := &view.FindForm{Action: "/runs/" + b.d.Run.ID, Find: strings.TrimSpace(b.c.QueryParam("find")), Clear: b.href(url.Values{"find": nil})}
	n, lines := 0, 0
	for _, k := range blocks {
		if k.JSON != nil {
			lines += k.Lines
			n += k.Found
		}
	}
	if lines < findFrom && f.Find == "" {
		return nil
	}
	f.Says = b.n(n, "Found %s time.", "Found %s times.")
	for _, key := range kept {
		if v := b.c.QueryParam(key); v != "" && key != "find" && key != "into" && key != "nth" {
			f.Kept = append(f.Kept, view.Field{Name: key, Value: v})
		}
	}
	return f
}

func (b *runPage) errorBlocks(a *attempt) []view.Block {
	f := a.entry.Failure
	text := f.Message
	for _, more := range []string{f.Suggestion, f.Detail} {
		if more != "" && more != f.Message {
			text += "\n\n" + more
		}
	}
	retry := b.t("retryable")
	if f.Permanent {
		retry = b.t("permanent")
	}
	out := []view.Block{cutBlock(view.Block{ID: "err", Title: f.Code + " · " + retry}, text)}
	if m := meaningOf(f.Code); m != "" {
		out[0].Says = b.t(m)
	}
	if len(f.Causes) > 0 {
		lines := make([]string, len(f.Causes))
		for i, c := range f.Causes {
			lines[i] = strconv.Itoa(i+1) + " " + c
		}
		c := cutBlock(view.Block{ID: "causes", Title: b.t("Causes, from the outside in")}, strings.Join(lines, "\n"))
		c.Folded = true
		out = append(out, c)
	}
	if f.Stack != "" {
		s := cutBlock(view.Block{ID: "stack", Title: b.t("Stack")}, f.Stack)
		s.Folded = true
		out = append(out, s)
	}
	if a.entry.IdempotencyKey != "" {
		out[0].Says = strings.TrimSpace(out[0].Says + " " + b.t("Its idempotency key is %s.", a.entry.IdempotencyKey))
	}
	return append(out, b.value("in", b.t("Input"), a.input, a.entry.Seq, "input"))
}

// decisionBlocks say who decided, or which condition was true and what it saw.
func (b *runPage) decisionBlocks(st *step) []view.Block {
	var lines []string
	if b.typeOf(st.node) == walk.TypeApproval {
		if st.final == nil {
			return []view.Block{{ID: "dec", Title: b.t("Who decided"), Text: b.t("Nobody has decided yet.")}}
		}
		if st.final.Actor != "" {
			lines = append(lines, b.t("Decided by %s", visible(st.final.Actor)))
		}
		t := b.time(st.final.At)
		lines = append(lines, t.Title+" · "+t.UTC)
		if st.final.Reason != "" {
			lines = append(lines, visible(cut(st.final.Reason, 2000)))
		}
		out := []view.Block{{ID: "dec", Title: b.t("Who decided"), Text: strings.Join(lines, "\n")}}
		if st.final.Output != nil {
			out = append(out, b.value("out", b.t("Answer"), st.final.Output, st.final.Seq, "output"))
		}
		return out
	}
	d := decision(st.final.Decision)
	for _, e := range d.Evaluated {
		line := fmt.Sprintf("%-9s %s  → %s", e.Result, e.Condition, e.To)
		if e.Saw != "" {
			line += "\n          " + b.t("it saw %s", cut(e.Saw, 300))
		}
		lines = append(lines, line)
	}
	for _, c := range d.Settled {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Node, c.Status, b.said(c.Reason))))
	}
	switch {
	case d.To != "":
		lines = append(lines, b.t("taken: → %s", d.To))
	case d.Ended != "":
		lines = append(lines, b.t("ended: %s", b.said(d.Ended)))
	}
	return []view.Block{{ID: "dec", Title: b.t("Why did it go there?"), Text: visible(cut(strings.Join(lines, "\n"), value.PreviewBytes))}}
}

// callBlocks are the calls of models and tools inside a step: what they were
// asked, what they answered, what it took.
func (b *runPage) callBlocks(st *step) []view.Block {
	var out []view.Block
	for n, c := range st.calls {
		if n == shownCalls {
			out = append(out, view.Block{ID: "more", Title: b.t("More"), Text: b.n(len(st.calls)-n, "%s more call; the view of handoffs lists all.", "%s more calls; the view of handoffs lists all.")})
			break
		}
		what, _ := callOf(c)
		title := []string{fmt.Sprintf("%d · %s", n+1, visible(what)), b.t(stepStatus(c.Status).Word)}
		if !c.StartedAt.IsZero() {
			title = append(title, took(c.At.Sub(c.StartedAt)))
		}
		if !c.Usage.Zero() {
			title = append(title, b.n(int(c.Usage.InputTokens), "%s token in", "%s tokens in"), b.n(int(c.Usage.OutputTokens), "%s token out", "%s tokens out"), b.cost(c.Usage.Cost))
		}
		id := "call-" + strconv.Itoa(n)
		var v view.Block
		switch {
		case c.Failure != nil:
			v = cutBlock(view.Block{ID: id}, c.Failure.Code+": "+c.Failure.Message)
		case c.Output != nil:
			v = b.value(id, "", c.Output, c.Seq, "output")
		default:
			v = b.value(id, "", c.Input, c.Seq, "input")
		}
		v.Title = strings.Join(title, " · ")
		out = append(out, v)
	}
	return out
}

// stepLog is what an attempt has logged, the newest lines; while it runs, it is
// followed live.
func (b *runPage) stepLog(st *step, a *attempt) view.StepLog {
	kept := domain.ReadLog(a.log)
	v := view.StepLog{Title: b.t("Log") + " · " + b.n(len(kept.Lines), "%s line", "%s lines"), All: "/runs/" + b.d.Run.ID + "?" + url.Values{"view": {"log"}, "logstep": {st.node}}.Encode()}
	for _, l := range kept.Lines[max(0, len(kept.Lines)-shownLog):] {
		v.Lines = append(v.Lines, b.logLine(l, &a.entry))
	}
	if st.status == domain.NodeRunning {
		v.Topic, v.Refresh = "run-"+b.d.Run.ID, b.href(nil)
	}
	v.Said = b.logSaid(kept)
	return v
}

// logSaid is how far an attempt says that it is, and what of its log is not kept.
func (b *runPage) logSaid(l domain.AttemptLog) string {
	var out []string
	if p := l.Progress; p != nil {
		text := b.number(p.Done)
		if p.Total > 0 {
			text = b.t("%s of %s", b.number(p.Done), b.number(p.Total))
		}
		out = append(out, b.t("Progress: %s", text)+" "+visible(cut(p.Message, 200)))
	}
	if l.Dropped > 0 {
		out = append(out, b.n(l.Dropped, "%s more line was not kept.", "%s more lines were not kept."))
	}
	return strings.Join(out, " · ")
}

// changeBlock is what a step's checkpoint changed of the state: its output, against
// that of the visit before.
func (b *runPage) changeBlock(st *step) view.Block {
	var before domain.RawJSON
	name := b.t("nothing")
	for i := range b.d.Journal {
		e := &b.d.Journal[i]
		if e.Seq >= st.final.Seq {
			break
		}
		if isCheckpoint(e) && e.Node == st.node && e.Item == st.item {
			before, name = e.Output, b.t("cp %d after %s", e.Seq, stepName(e.Node, e.Visit))
		}
	}
	v := view.Block{ID: "chg", Title: b.t("output.%s, against %s", st.node, name)}
	v.Diff, v.Note = b.jsonDiff(before, st.final.Output)
	return v
}

// definition is a node as the plan has it.
func (b *runPage) definition(node string) view.Block {
	v := view.Block{ID: "def", Title: b.t("Definition in v%d", b.d.Run.Version)}
	i, ok := b.program.Index[node]
	if !ok {
		v.Text = b.t("This version has no such node.")
		return v
	}
	n := &b.program.Nodes[i]
	d := map[string]any{"type": n.TypeName}
	set := func(key, text string) {
		if text != "" {
			d[key] = text
		}
	}
	set("tool", n.Tool)
	set("agent", n.Agent)
	set("plan", n.Plan)
	set("effect", string(n.Effect))
	set("on_error", string(n.OnError))
	set("on_reject", string(n.OnReject))
	if n.Timeout > 0 {
		set("timeout", n.Timeout.String())
	}
	if n.Input != nil {
		d["input"] = n.Input.Source
	}
	var needs []any
	for _, j := range n.Needs {
		needs = append(needs, b.program.Nodes[j].ID)
	}
	if needs != nil {
		d["needs"] = needs
	}
	var edges []any
	for _, e := range n.Out {
		text := "→ " + b.program.Nodes[e.To].ID
		if e.Text != "" {
			text += ", " + e.Text
		}
		edges = append(edges, text)
	}
	if edges != nil {
		d["edges"] = edges
	}
	root := value.Tree(b.display.lang, d)
	v.JSON = &root
	return v
}

// decision reads the walk's decision of a row.
func decision(j domain.RawJSON) walk.Decision {
	var d walk.Decision
	if len(j) > 0 && json.Unmarshal(j, &d) != nil {
		return walk.Decision{}
	}
	return d
}
