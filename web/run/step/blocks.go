package step

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/diff/jsondiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/part/failure"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/run/log"
	"github.com/kairosd/kairosd/web/run/record"
)

const (
	// shownCalls is the maximum number of calls in the inspector.
	shownCalls = 40
	// shownLog is the maximum number of log lines in the inspector.
	shownLog = 200
)

// blocks returns the content of a tab of the inspector.
func (b inspectorPart) blocks(st *record.Step, a *record.Attempt, tab string) []kit.Block {
	switch tab {
	case "error":
		return b.errorBlocks(a)
	case "decision", "evaluation":
		return b.decisionBlocks(st)
	case "calls":
		return b.callBlocks(st)
	case "change":
		return []kit.Block{b.changeBlock(st)}
	case "definition":
		return []kit.Block{b.definition(st.Node)}
	}
	entry, input := st.Last, st.Last.Input
	if a != nil {
		entry, input = a.Entry, a.Input
	}
	if tab == "input" {
		return []kit.Block{b.source(st, b.ValueOf("in", b.T("Input"), input, entry.Seq, "input"))}
	}
	out := b.source(st, b.ValueOf("out", b.T("Output"), entry.Output, entry.Seq, "output"))
	if entry.Output == nil {
		switch st.Status {
		case domain.NodeRunning:
			out.Text = b.T("It still runs.")
		case domain.NodeWaiting:
			out.Text = b.T("It waits.")
			out.More = append(out.More, b.sendLinks(st)...)
		case domain.NodeSkipped:
			out.Text = b.T("It was skipped.")
		}
	}
	return []kit.Block{out}
}

// sendLinks returns links to the form that sends the signal a step waits for.
func (b inspectorPart) sendLinks(st *record.Step) (out []kit.Link) {
	for _, w := range b.Detail.Waits {
		if w.Event != "" && w.Node == st.Node && w.Visit == st.Visit && w.Item == st.Item && b.May(app.SendSignal) {
			out = append(out, kit.Link{Text: b.T("Send the signal %s…", kit.Escape(w.Event)), Href: incoming.Send(w.Event, w.Key)})
		}
	}
	return out
}

// source adds a link from a reused result to the step in the original run.
func (b inspectorPart) source(st *record.Step, v kit.Block) kit.Block {
	if from := b.Detail.Run.ForkedFrom; st.Reused && from != "" {
		v.More = append(
			v.More,
			kit.Link{
				Text: b.T("Reused from run %s: open the step there", domain.ShortID(from)),
				Href: "/runs/" + from + "?" + url.Values{"step": {kit.StepName(st.Node, st.Visit)}}.Encode() + "#inspector",
			},
		)
	}
	return v
}

func (b inspectorPart) errorBlocks(a *record.Attempt) []kit.Block {
	f := a.Entry.Failure
	text := f.Message
	for _, more := range []string{f.Suggestion, f.Detail} {
		if more != "" && more != f.Message {
			text += "\n\n" + more
		}
	}
	retry := b.T("retryable")
	if f.Permanent {
		retry = b.T("permanent")
	}
	out := []kit.Block{value.Text(kit.Block{ID: "err", Title: f.Code + " · " + retry}, text)}
	out[0].More = []kit.Link{{Text: b.T("About this error"), Href: "/docs/reference/errors#" + failure.Anchor(f.Code)}}
	if len(f.Causes) > 0 {
		lines := make([]string, len(f.Causes))
		for i, c := range f.Causes {
			lines[i] = strconv.Itoa(i+1) + " " + c
		}
		c := value.Text(kit.Block{ID: "causes", Title: b.T("Causes, outermost first")}, strings.Join(lines, "\n"))
		c.Folded = true
		out = append(out, c)
	}
	if f.Stack != "" {
		s := value.Text(kit.Block{ID: "stack", Title: b.T("Stack")}, f.Stack)
		s.Folded = true
		out = append(out, s)
	}
	if a.Key != "" {
		out[0].Explanation = strings.TrimSpace(out[0].Explanation + " " + b.T("Idempotency key: %s", a.Key))
	}
	return append(out, b.ValueOf("in", b.T("Input"), a.Input, a.Entry.Seq, "input"))
}

// decisionBlocks returns who decided, or which condition was true with which values.
func (b inspectorPart) decisionBlocks(st *record.Step) []kit.Block {
	var lines []string
	if b.TypeOf(st.Node) == walk.TypeApproval {
		if st.Final == nil {
			return []kit.Block{{ID: "dec", Title: b.T("Who decided"), Text: b.T("No decision yet.")}}
		}
		if st.Final.Actor != "" {
			lines = append(lines, b.T("Decided by %s", kit.Escape(st.Final.Actor)))
		}
		t := b.Time(st.Final.At)
		lines = append(lines, t.Title+" · "+t.UTC)
		if st.Final.Reason != "" {
			lines = append(lines, kit.Escape(kit.Truncate(st.Final.Reason, 2000)))
		}
		out := []kit.Block{{ID: "dec", Title: b.T("Who decided"), Text: strings.Join(lines, "\n")}}
		if st.Final.Output != nil {
			out = append(out, b.ValueOf("out", b.T("Answer"), st.Final.Output, st.Final.Seq, "output"))
		}
		return out
	}
	d := st.Decision()
	for _, e := range d.Evaluated {
		line := fmt.Sprintf("%-9s %s  → %s", e.Result, e.Condition, e.To)
		if e.Saw != "" {
			line += "\n          " + b.T("it saw %s", kit.Truncate(e.Saw, 300))
		}
		lines = append(lines, line)
	}
	for _, c := range d.Settled {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Node, c.Status, b.Message(c.Message()))))
	}
	switch {
	case d.To != "":
		lines = append(lines, b.T("taken: → %s", d.To))
	case d.Ended != "":
		lines = append(lines, b.T("ended: %s", b.Constant(d.Ended)))
	}
	return []kit.Block{
		{ID: "dec", Title: b.T("Why did it go there?"), Text: kit.Escape(kit.Truncate(strings.Join(lines, "\n"), value.PreviewBytes))},
	}
}

// callBlocks returns the model and tool calls of a step, with request, response, and duration.
func (b inspectorPart) callBlocks(st *record.Step) []kit.Block {
	var out []kit.Block
	for n, c := range st.Calls {
		if n == shownCalls {
			out = append(
				out,
				kit.Block{
					ID:    "more",
					Title: b.T("More"),
					Text: b.N(
						len(st.Calls)-n,
						"%s more call; the view of handoffs lists all.",
						"%s more calls; the view of handoffs lists all.",
					),
				},
			)
			break
		}
		what, _ := part.Call(c)
		title := []string{fmt.Sprintf("%d · %s", n+1, kit.Escape(what)), b.T(record.StepStatus(c.Status).Word)}
		if !c.StartedAt.IsZero() {
			title = append(title, kit.Duration(c.At.Sub(c.StartedAt)))
		}
		if !c.Usage.Zero() {
			title = append(
				title,
				b.N(int(c.Usage.InputTokens), "%s token in", "%s tokens in"),
				b.N(int(c.Usage.OutputTokens), "%s token out", "%s tokens out"),
				value.Cost(b.Context, c.Usage.Cost),
			)
		}
		id := "call-" + strconv.Itoa(n)
		var v kit.Block
		switch {
		case c.Failure != nil:
			v = value.Text(kit.Block{ID: id}, c.Failure.Code+": "+c.Failure.Message)
		case c.Output != nil:
			v = b.ValueOf(id, "", c.Output, c.Seq, "output")
		default:
			v = b.ValueOf(id, "", c.Input, c.Seq, "input")
		}
		v.Title = strings.Join(title, " · ")
		out = append(out, v)
	}
	return out
}

// stepLog returns the newest lines of an attempt's log. While the attempt runs, the log is updated
// live.
func (b inspectorPart) stepLog(st *record.Step, a *record.Attempt) log.StepLog {
	kept := domain.ReadLog(a.Log)
	v := log.StepLog{
		Title: b.T("Log") + " · " + b.N(len(kept.Lines), "%s line", "%s lines"),
		All:   "/runs/" + b.Detail.Run.ID + "?" + url.Values{"view": {"log"}, "logstep": {st.Node}}.Encode(),
	}
	for _, l := range kept.Lines[max(0, len(kept.Lines)-shownLog):] {
		v.Lines = append(v.Lines, log.LineOf(b.Record, l, a.Entry))
	}
	if st.Status == domain.NodeRunning {
		v.Topic, v.Refresh = "run-"+b.Detail.Run.ID, b.Href(nil)
	}
	v.Message = b.logProgress(kept)
	return v
}

// logProgress describes the progress of an attempt, and how many log lines were dropped.
func (b inspectorPart) logProgress(l domain.AttemptLog) string {
	var out []string
	if p := l.Progress; p != nil {
		text := b.Number(p.Done)
		if p.Total > 0 {
			text = b.T("%s of %s", b.Number(p.Done), b.Number(p.Total))
		}
		out = append(out, b.T("Progress: %s", text)+" "+kit.Escape(kit.Truncate(p.Message, 200)))
	}
	if l.Dropped > 0 {
		out = append(out, b.N(l.Dropped, "%s more line was not kept.", "%s more lines were not kept."))
	}
	return strings.Join(out, " · ")
}

// changeBlock returns the change of the state at a step's checkpoint: the diff between the output
// of the previous iteration and its output.
func (b inspectorPart) changeBlock(st *record.Step) kit.Block {
	var before domain.RawJSON
	name := b.T("nothing")
	for i := range b.Detail.Journal {
		e := &b.Detail.Journal[i]
		if e.Seq >= st.Final.Seq {
			break
		}
		if part.IsCheckpoint(e) && e.Node == st.Node && e.Item == st.Item {
			before, name = e.Output, b.T("cp %d after %s", e.Seq, kit.StepName(e.Node, e.Visit))
		}
	}
	v := kit.Block{ID: "chg", Title: b.T("output.%s, against %s", st.Node, name)}
	v.Diff, v.Note = value.Diff(b.Display.Lang, before, st.Final.Output)
	return v
}

// definition returns the definition of a step in the plan.
func (b inspectorPart) definition(node string) kit.Block {
	v := kit.Block{ID: "def", Title: b.T("Definition in v%d", b.Detail.Run.Version)}
	i, ok := b.Program.Index[node]
	if !ok {
		v.Text = b.T("This version has no such node.")
		return v
	}
	n := &b.Program.Nodes[i]
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
		needs = append(needs, b.Program.Nodes[j].ID)
	}
	switch {
	case n.When == walk.WhenFirst:
		d["race"] = needs
	case needs != nil:
		d["needs"] = needs
	}
	var edges []any
	for _, e := range n.Out {
		text := "→ " + b.Program.Target(e)
		if e.Text != "" {
			text += ", " + e.Text
		}
		edges = append(edges, text)
	}
	if edges != nil {
		d["edges"] = edges
	}
	root := value.Tree(b.Display.Lang, d)
	v.JSON = &root
	return v
}

// comparedSteps is the maximum number of steps of the run with which an input is compared.
const comparedSteps = 500

// markDifferences marks the differences between the input of a failed step and its input in the
// last completed run.
func (b inspectorPart) markDifferences(blocks []kit.Block, st *record.Step, a *record.Attempt) {
	if b.Detail.Run.Status != domain.RunFailed || !st.Failed() || a == nil {
		return
	}
	i := slices.IndexFunc(blocks, func(k kit.Block) bool { return k.ID == "in" && k.JSON != nil })
	good, err := b.Good()
	if i < 0 || err != nil || good.ID == "" || good.Steps > comparedSteps { // omit the marks on an error
		return
	}
	journal, err := b.Reader.JournalPage(b.Context, good.ID, 0, 0)
	if err != nil {
		return
	}
	var input domain.RawJSON
	for _, e := range journal {
		if e.Node == st.Node && e.Item == st.Item && len(e.Input) > 0 {
			input = e.Input
		}
	}
	was, err := jsonvalue.Decode(input)
	is, err2 := jsonvalue.Decode(a.Input)
	if err != nil || err2 != nil {
		return
	}
	changes, _ := jsondiff.Diff(was, is, 20)
	for _, c := range changes {
		text := b.T("not set in run %s", domain.ShortID(good.ID))
		if c.Op == jsondiff.Changed {
			text = b.T("in run %s: %s", domain.ShortID(good.ID), record.Short(c.Old))
		}
		markNode(blocks[i].JSON, c.Path, text)
	}
}

// markNode marks the value at a path.
func markNode(n *kit.Node, path, was string) {
	if n.Path == path {
		n.Previously = was
		return
	}
	for i := range n.Children {
		markNode(&n.Children[i], path, was)
	}
}
