// Package step contains the inspector, which shows one step with its attempts and values next to a
// view of a run, and the page of a step.
package step

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/detail"
	"github.com/kairosd/kairosd/web/part/failure"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/run/doubts"
	"github.com/kairosd/kairosd/web/run/record"
)

var tabWords = map[string]string{
	"error":      locale.Mark("Error"),
	"output":     locale.Mark("Output"),
	"input":      locale.Mark("Input"),
	"decision":   locale.Mark("Decision"),
	"evaluation": locale.Mark("Evaluation"),
	"log":        locale.Mark("Log"),
	"calls": locale.Mark(
		"Calls",
	),
	"prompt":     locale.Mark("Prompt"),
	"change":     locale.Mark("State change"),
	"definition": locale.Mark("Definition"),
}

// inspectorPart builds the inspector.
type inspectorPart struct{ *record.Record }

// Of returns the inspector of the selected step.
func Of(b *record.Record) Inspector { return inspectorPart{b}.inspector() }

// OfNode returns the inspector of a step that did not start.
func OfNode(b *record.Record, node string) Inspector { return inspectorPart{b}.nodeInspector(node) }

// inspector returns the inspector of the selected step. Its tabs are links.
func (b inspectorPart) inspector() Inspector {
	st := b.Chosen
	seq := strconv.FormatInt(st.Seq, 10)
	i := Inspector{
		Step: seq,
		Detail: detail.Detail{
			Name:   st.Label(),
			Sub:    b.aboutNode(st.Node),
			Status: st.Shown(),
			Page:   fmt.Sprintf("/runs/%s/steps/%d", b.Detail.Run.ID, st.Seq),
		},
	}
	a := st.Attempt(b.Query("try"))
	if i.Key = "step-" + seq; a != nil {
		i.Key += "-" + strconv.Itoa(a.Number)
	}
	i.Attempts = b.attemptLinks(st, a)
	b.inspectorFacts(&i, st, a)
	i.Resume = b.fate(st)
	if st.Status == domain.NodeInDoubt && a != nil && b.Principal.Role.Includes(domain.RoleOperator) {
		i.Doubt = b.doubtForm(st, a)
	}
	tabs := b.tabs(st, a)
	tab := chosenTab(tabs, b.Query("tab"))
	i.Tabs = b.tabLinks(st, tabs, tab)
	b.showTab(&i, st, a, tab)
	i.Actions = b.stepActions(st)
	return i
}

// attemptLinks returns a link to each attempt, or none if there is only one attempt.
func (b inspectorPart) attemptLinks(st *record.Step, shown *record.Attempt) []kit.Link {
	if len(st.Attempts) < 2 {
		return nil
	}
	seq := strconv.FormatInt(st.Seq, 10)
	var out []kit.Link
	for n := range st.Attempts {
		text := strconv.Itoa(st.Attempts[n].Number)
		s := record.StepStatus(st.Attempts[n].Status)
		out = append(out, kit.Link{
			Text:    text,
			Icon:    s.Icon,
			Class:   s.Key,
			Href:    b.Href(url.Values{"step": {seq}, "node": nil, "try": {text}, "tab": nil}) + "#inspector",
			Current: &st.Attempts[n] == shown,
		})
	}
	return out
}

// doubtForm returns the form that decides an attempt in doubt.
func (b inspectorPart) doubtForm(st *record.Step, a *record.Attempt) *DoubtForm {
	return &DoubtForm{
		Calls:    b.callsInDoubt(st),
		What:     b.doubtOf(st, a),
		Together: doubts.Together(b.Record, st.Node),
		Action:   fmt.Sprintf("/runs/%s/nodes/%s/resolve", b.Detail.Run.ID, url.PathEscape(st.Node)),
		CSRF:     b.Principal.CSRF,
		Idem:     kit.NewID(),
		Rev:      strconv.FormatInt(b.Detail.Run.LastSeq, 10),
		Node:     st.Node,
		Visit:    strconv.Itoa(st.Visit),
		Item:     strconv.Itoa(st.Item),
		Attempt:  strconv.Itoa(a.Number),
		Key:      cmp.Or(a.Key, "–"),
		Target:   cmp.Or(b.TargetOf(st.Node), b.ActionOf(st.Node)),
		Sent:     b.Time(a.Started).Title,
	}
}

// chosenTab returns the requested tab if the step has it, or the first. A tab may have another name
// on other steps: a link keeps its tab when the step changes.
func chosenTab(tabs []string, requested string) string {
	same := map[string]string{"calls": "prompt", "decision": "evaluation"}[requested]
	switch {
	case slices.Contains(tabs, requested):
		return requested
	case slices.Contains(tabs, same):
		return same
	}
	return tabs[0]
}

// tabLinks returns a link to each tab.
func (b inspectorPart) tabLinks(st *record.Step, tabs []string, shown string) []kit.Link {
	seq := strconv.FormatInt(st.Seq, 10)
	var out []kit.Link
	for _, t := range tabs {
		l := kit.Link{
			Text:    b.T(tabWords[t]),
			Href:    b.Href(url.Values{"step": {seq}, "node": nil, "tab": {t}}) + "#inspector",
			Current: t == shown,
		}
		if t == "calls" {
			l.Count = strconv.Itoa(len(st.Calls))
		}
		out = append(out, l)
	}
	return out
}

// showTab adds the content of a tab.
func (b inspectorPart) showTab(i *Inspector, st *record.Step, a *record.Attempt, tab string) {
	switch tab {
	case "log":
		l := b.stepLog(st, a)
		i.Log = &l
	case "prompt":
		b.promptTab(i, st, a)
	case "error":
		i.Blocks = b.errorBlocks(a)
		i.Advice = b.T(failure.Meaning(a.Entry.Failure.Code))
		b.markDifferences(i.Blocks, st, a)
		if id := a.Entry.Failure.Request; id != "" {
			i.Facts = append(i.Facts, kit.Fact{Term: b.T("Provider request"), Text: kit.Escape(id)})
		}
		i.Facts = append(i.Facts, kit.Fact{Term: b.T("Trace"), Text: fmt.Sprintf("%x", domain.TraceOf(b.Detail.Run.ID))})
		i.Find = b.FindForm(i.Blocks)
	case "definition":
		i.Blocks = b.blocks(st, a, tab)
	default:
		i.Blocks = b.blocks(st, a, tab)
		if tab == "input" {
			b.markDifferences(i.Blocks, st, a)
		}
		i.Find = b.FindForm(i.Blocks)
	}
}

// stepActions returns what the user may do with a step: retry it, or fork the run before or after
// it.
func (b inspectorPart) stepActions(st *record.Step) (out []kit.Link) {
	run := b.Detail.Run.ID
	if b.reopens(st) {
		only := url.Values{"only": {fmt.Sprintf("%s#%d", st.Node, st.Visit)}}
		out = append(out, kit.Link{
			Text:   b.T("Retry only this step…"),
			Href:   fmt.Sprintf("/runs/%s/resume?%s", run, only.Encode()),
			Dialog: true,
		})
	}
	if !b.Principal.Role.Includes(domain.RoleOperator) || st.Final == nil {
		return out
	}
	before := int64(0)
	for _, e := range b.Detail.Journal[:min(int(st.Seq-1), len(b.Detail.Journal))] {
		if part.IsCheckpoint(&e) {
			before = e.Seq
		}
	}
	fork := func(text string, at int64) {
		out = append(out, kit.Link{Text: text, Href: fmt.Sprintf("/runs/%s/fork?at=%d", run, at)})
	}
	fork(b.T("Fork from here with edited state…"), before)
	if st.Status == domain.NodeCompleted {
		fork(b.T("Fork after this step…"), st.Final.Seq)
	}
	return out
}

// doubtOf describes why it is unknown whether an attempt had its effect.
func (b inspectorPart) doubtOf(st *record.Step, a *record.Attempt) string {
	what := b.Kind(st.Node)
	if what == "" {
		what = st.Node
	}
	f := a.Entry.Failure
	how := b.T(
		"kairosd stopped during attempt %d of %s (%s).",
		a.Number,
		st.Node,
		what,
	)
	switch {
	case f == nil:
	case f.Code == "interrupted":
		how = b.T("Attempt %d of %s (%s) was interrupted: %s.", a.Number, st.Node, what, b.Constant(f.Message))
	default:
		how = b.T(
			"Attempt %d of %s (%s) got no response: %s",
			a.Number,
			st.Node,
			what,
			kit.Escape(kit.Truncate(f.Message, 300)),
		)
		how = strings.TrimSuffix(how, ".") + "."
	}
	return how + " " + b.T(
		"The call may or may not have reached the server. It is not idempotent: running it again may repeat its effect.",
	)
}

// callsInDoubt returns the calls in doubt within a step's conversation.
func (b inspectorPart) callsInDoubt(st *record.Step) []DoubtCall {
	var out []DoubtCall
	for _, w := range b.Detail.Waits {
		if w.Reason != domain.WaitInDoubt || w.Node != st.Node || w.Visit != st.Visit || w.Item != st.Item {
			continue
		}
		for _, c := range w.Calls {
			out = append(
				out,
				DoubtCall{Tool: kit.Escape(c.Tool), Arguments: record.Brief(c.Arguments), Key: c.IdempotencyKey,
					Sent: b.Time(c.Since).Title},
			)
		}
	}
	return out
}

// tabs returns the tabs of a step, most relevant first.
func (b inspectorPart) tabs(st *record.Step, a *record.Attempt) []string {
	var tabs []string
	if a != nil && a.Entry.Failure != nil {
		tabs = append(tabs, "error")
	}
	decided := st.Final != nil && len(st.Final.Decision) > 0
	person := b.TypeOf(st.Node) == walk.TypeApproval
	if person {
		tabs = append(tabs, "decision")
	}
	if st.Status == domain.NodeRunning && a != nil {
		tabs = append(tabs, "log")
	}
	tabs = append(tabs, "output", "input")
	switch {
	case b.Conversations(st.Node) && a != nil:
		tabs = append(tabs, "prompt")
	case len(st.Calls) > 0:
		tabs = append(tabs, "calls")
	}
	if decided && !person {
		tabs = append(tabs, "evaluation")
	}
	if a != nil && len(a.Log) > 0 && !slices.Contains(tabs, "log") {
		tabs = append(tabs, "log")
	}
	if st.Final != nil && part.IsCheckpoint(st.Final) {
		tabs = append(tabs, "change")
	}
	return append(tabs, "definition")
}

// aboutNode summarizes a step in one line.
func (b inspectorPart) aboutNode(node string) string {
	out := []string{b.Kind(node)}
	if i, ok := b.Program.Index[node]; ok {
		n := &b.Program.Nodes[i]
		if n.Timeout > 0 {
			out = append(out, b.T("timeout")+" "+n.Timeout.String())
		}
		if n := n.MostAttempts(); n > 1 {
			out = append(out, b.N(n, "at most %s attempt", "at most %s attempts"))
		}
		if b.Effects[i] == walk.EffectUnsafe {
			out = append(out, b.T("side effects"))
		}
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " · ")
}

// inspectorFacts adds the times and the usage of an attempt, and the agents, models, and tools.
func (b inspectorPart) inspectorFacts(i *Inspector, st *record.Step, a *record.Attempt) {
	main := func(term, text string) {
		if text != "" {
			i.Main = append(i.Main, kit.Fact{Term: term, Text: text})
		}
	}
	add := func(term, text string) {
		if text != "" {
			i.Facts = append(i.Facts, kit.Fact{Term: term, Text: text})
		}
	}
	from, until := st.Started, st.Until(b.Site.Now())
	if a != nil {
		if from = a.Started; !a.Ended.IsZero() {
			until = a.Ended
		}
		if st.Status != record.NodeLost {
			main(b.T("Duration"), kit.Duration(until.Sub(from)))
			main(b.T("Total"), kit.Duration(st.Took(b.Site.Now())))
		}
	}
	if flow, err := b.Flow(); err == nil { // omit the median on an error
		if n := flow.Nodes[st.Node]; n != nil && n.Settled > n.Failed {
			main(b.T("Usually"), kit.Duration(n.P50))
		}
	}
	if _, first := b.Winner(st.Node); first != nil {
		main(b.T("Race won by"), kit.Escape(first.Node))
	}
	if n, ok := b.Program.Index[st.Node]; ok {
		main(b.T("Side effects"), value.Effect(b.Context, string(b.Effects[n])))
	}
	if id := st.Child(); id != "" {
		i.Main = append(i.Main, kit.Fact{Term: b.T("Child run"), Text: domain.ShortID(id), Href: "/runs/" + id})
	}
	i.Began = b.Time(from)
	if u := st.Usage(); !u.Zero() {
		add(b.T("Tokens"), b.Number(u.InputTokens)+" → "+b.Number(u.OutputTokens))
		add(b.T("Cost"), value.Cost(b.Context, u.Cost))
	}
	agent := st.Last.Agent
	for _, c := range st.Calls {
		agent = cmp.Or(agent, c.Agent)
	}
	b.participants(st, a, agent, add)
}

// fate describes what resuming would do with a step, according to the preview of the resume.
func (b inspectorPart) fate(st *record.Step) string {
	pre := b.Resume()
	if pre == nil {
		return ""
	}
	in := func(list []domain.PreviewStep) *domain.PreviewStep {
		for i := range list {
			s := &list[i]
			if s.Node == st.Node && (s.Visit == st.Visit || s.Visit == 0) &&
				(st.Item < 0 || len(s.Items) == 0 || slices.Contains(s.Items, st.Item)) {
				return s
			}
		}
		return nil
	}
	switch {
	case in(pre.InDoubt) != nil:
		return b.T("Resuming needs a decision about this step first.")
	case st.Item >= 0 && st.Status == domain.NodeCompleted && in(pre.Again) == nil:
		return b.T("Resuming keeps this result; the step is not repeated.")
	case in(pre.Again) != nil:
		return b.T("Resuming runs this step again.")
	case in(pre.Keep) != nil:
		return b.T("Resuming keeps this result; the step is not repeated.")
	}
	return ""
}

// reopens reports whether the step itself is a reason for its repetition in a resume.
func (b inspectorPart) reopens(st *record.Step) bool {
	pre := b.Resume()
	return pre != nil && slices.ContainsFunc(pre.Again, func(s domain.PreviewStep) bool {
		return s.Node == st.Node && s.Visit == st.Visit && s.Reopened()
	})
}

// nodeInspector returns the inspector of a step that did not start: its definition, and the reason.
func (b inspectorPart) nodeInspector(node string) Inspector {
	i := Inspector{Detail: detail.Detail{Name: node, Key: "node-" + node, Sub: b.aboutNode(node)}}
	state, why := b.NoStep(node)
	pre := b.Resume()
	i.Status = record.WordOf(state)
	switch {
	case state == "failed":
		i.Resume = b.T("It failed before it started.") + " " + why
	case why != "":
		i.Resume = why
	case state == record.Passed:
		i.Resume = b.T("The run continued without it.")
	case pre != nil && slices.ContainsFunc(pre.New, func(s domain.PreviewStep) bool { return s.Node == node }):
		i.Resume = b.T("It has not started. Resuming may run it for the first time.")
	default:
		i.Resume = b.T("It has not started.")
	}
	i.Blocks = []kit.Block{b.definition(node)}
	return i
}
