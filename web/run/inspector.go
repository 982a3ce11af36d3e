package run

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

// inspectorPart makes what stands beside a view: one step, its attempts and its values.
type inspectorPart struct{ *record }

// inspectorOf shows the chosen step.
func inspectorOf(b *record) Inspector { return inspectorPart{b}.inspector() }

// nodeInspectorOf shows a node without a step.
func nodeInspectorOf(b *record, node string) Inspector { return inspectorPart{b}.nodeInspector(node) }

// inspector shows the chosen step; tabs are links.
func (b inspectorPart) inspector() Inspector {
	st := b.chosen
	seq := strconv.FormatInt(st.seq, 10)
	i := Inspector{
		Step: seq,
		Detail: detail.Detail{
			Name:   st.label(),
			Sub:    b.aboutNode(st.node),
			Status: st.shown(),
			Page:   fmt.Sprintf("/runs/%s/steps/%d", b.d.Run.ID, st.seq),
		},
	}
	a := st.attempt(b.Query("try"))
	if i.Key = "step-" + seq; a != nil {
		i.Key += "-" + strconv.Itoa(a.number)
	}
	if len(st.attempts) > 1 {
		for n := range st.attempts {
			text := strconv.Itoa(st.attempts[n].number)
			s := stepStatus(st.attempts[n].status)
			i.Attempts = append(
				i.Attempts,
				kit.Link{
					Text:    text,
					Icon:    s.Icon,
					Class:   s.Key,
					Href:    b.href(url.Values{"step": {seq}, "node": nil, "try": {text}, "tab": nil}) + "#inspector",
					Current: &st.attempts[n] == a,
				},
			)
		}
	}
	b.inspectorFacts(&i, st, a)
	i.Resume = b.fate(st)
	if st.status == domain.NodeInDoubt && a != nil && b.Who.Role.Includes(domain.RoleOperator) {
		what := b.doubtOf(st, a)
		together := together(b.record, st.node)
		i.Doubt = &DoubtForm{
			Calls:    b.callsInDoubt(st),
			What:     what,
			Together: together,
			Action:   fmt.Sprintf("/runs/%s/nodes/%s/resolve", b.d.Run.ID, url.PathEscape(st.node)),
			CSRF:     b.Who.CSRF,
			Idem:     kit.NewID(),
			Rev: strconv.FormatInt(
				b.d.Run.LastSeq,
				10,
			),
			Node:    st.node,
			Visit:   strconv.Itoa(st.visit),
			Item:    strconv.Itoa(st.item),
			Attempt: strconv.Itoa(a.number),
			Key:     cmp.Or(a.key, "–"), Target: cmp.Or(b.target(st.node), b.does(st.node)), Sent: b.Time(a.started).Title,
		}
	}
	tabs := b.tabs(st, a)
	tab := b.Query("tab")
	for was, is := range map[string]string{"calls": "prompt", "decision": "evaluation"} { // as other steps call it
		if tab == was && !slices.Contains(tabs, was) && slices.Contains(tabs, is) {
			tab = is
		}
	}
	if !slices.Contains(tabs, tab) {
		tab = tabs[0]
	}
	for _, t := range tabs {
		l := kit.Link{
			Text:    b.T(tabWords[t]),
			Href:    b.href(url.Values{"step": {seq}, "node": nil, "tab": {t}}) + "#inspector",
			Current: t == tab,
		}
		if t == "calls" {
			l.Count = strconv.Itoa(len(st.calls))
		}
		i.Tabs = append(i.Tabs, l)
	}
	switch tab {
	case "log":
		l := b.stepLog(st, a)
		i.Log = &l
	case "prompt":
		b.promptTab(&i, st, a)
	case "error":
		i.Blocks = b.errorBlocks(a)
		i.Advice = b.T(failure.Meaning(a.entry.Failure.Code))
		b.markDifferences(i.Blocks, st, a)
		if id := a.entry.Failure.Request; id != "" {
			i.Facts = append(i.Facts, kit.Fact{Term: b.T("Provider request"), Text: kit.Visible(id)})
		}
		i.Facts = append(i.Facts, kit.Fact{Term: b.T("Trace"), Text: fmt.Sprintf("%x", domain.TraceOf(b.d.Run.ID))})
		i.Find = b.findForm(i.Blocks)
	default:
		i.Blocks = b.blocks(st, a, tab)
		if tab == "input" {
			b.markDifferences(i.Blocks, st, a)
		}
		if i.Find = b.findForm(i.Blocks); tab == "definition" {
			i.Find = nil
		}
	}
	if b.reopens(st) {
		i.Actions = append(
			i.Actions,
			kit.Link{
				Text: b.T("Retry only this step…"),
				Href: fmt.Sprintf(
					"/runs/%s/resume?%s",
					b.d.Run.ID,
					url.Values{"only": {fmt.Sprintf("%s#%d", st.node, st.visit)}}.Encode(),
				),
				Dialog: true,
			},
		)
	}
	if b.Who.Role.Includes(domain.RoleOperator) && st.final != nil {
		before := int64(0)
		for _, e := range b.d.Journal[:min(int(st.seq-1), len(b.d.Journal))] {
			if part.IsCheckpoint(&e) {
				before = e.Seq
			}
		}
		fork := func(text string, at int64) {
			i.Actions = append(i.Actions, kit.Link{Text: text, Href: fmt.Sprintf("/runs/%s/fork?at=%d", b.d.Run.ID, at)})
		}
		fork(b.T("Fork from here with edited state…"), before)
		if st.status == domain.NodeCompleted {
			fork(b.T("Fork after this step…"), st.final.Seq)
		}
	}
	return i
}

// doubtOf reports how it came that it is unknown whether an attempt had its effect.
func (b inspectorPart) doubtOf(st *step, a *attempt) string {
	what := b.kind(st.node)
	if what == "" {
		what = st.node
	}
	f := a.entry.Failure
	how := b.T(
		"kairosd stopped during attempt %d of %s (%s).",
		a.number,
		st.node,
		what,
	)
	if f != nil && f.Code != "interrupted" {
		how = b.T(
			"Attempt %d of %s (%s) got no response: %s",
			a.number,
			st.node,
			what,
			kit.Visible(kit.Cut(f.Message, 300)),
		)
		how = strings.TrimSuffix(how, ".") + "."
	}
	return how + " " + b.T(
		"The call may or may not have reached the server. It is not idempotent: running it again may repeat its effect.",
	)
}

// callsInDoubt are the calls of a step's conversation whose outcome is not known.
func (b inspectorPart) callsInDoubt(st *step) []DoubtCall {
	var out []DoubtCall
	for _, w := range b.d.Waits {
		if w.Reason != domain.WaitInDoubt || w.Node != st.node || w.Visit != st.visit || w.Item != st.item {
			continue
		}
		for _, c := range w.Calls {
			out = append(
				out,
				DoubtCall{Tool: kit.Visible(c.Tool), Arguments: brief(c.Arguments), Key: c.IdempotencyKey, Sent: b.Time(c.Since).Title},
			)
		}
	}
	return out
}

// tabs are the parts of a step that there are, the answer first.
func (b inspectorPart) tabs(st *step, a *attempt) []string {
	var tabs []string
	if a != nil && a.entry.Failure != nil {
		tabs = append(tabs, "error")
	}
	decided := st.final != nil && len(st.final.Decision) > 0
	person := b.typeOf(st.node) == walk.TypeApproval
	if person {
		tabs = append(tabs, "decision")
	}
	if st.status == domain.NodeRunning && a != nil {
		tabs = append(tabs, "log")
	}
	tabs = append(tabs, "output", "input")
	switch {
	case b.conversations(st.node) && a != nil:
		tabs = append(tabs, "prompt")
	case len(st.calls) > 0:
		tabs = append(tabs, "calls")
	}
	if decided && !person {
		tabs = append(tabs, "evaluation")
	}
	if a != nil && len(a.log) > 0 && !slices.Contains(tabs, "log") {
		tabs = append(tabs, "log")
	}
	if st.final != nil && part.IsCheckpoint(st.final) {
		tabs = append(tabs, "change")
	}
	return append(tabs, "definition")
}

// aboutNode is what a node is, in a line.
func (b inspectorPart) aboutNode(node string) string {
	out := []string{b.kind(node)}
	if i, ok := b.program.Index[node]; ok {
		n := &b.program.Nodes[i]
		if n.Timeout > 0 {
			out = append(out, b.T("timeout")+" "+n.Timeout.String())
		}
		if n := n.MostAttempts(); n > 1 {
			out = append(out, b.N(n, "at most %s attempt", "at most %s attempts"))
		}
		if b.effects[i] == walk.EffectUnsafe {
			out = append(out, b.T("side effects"))
		}
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), " · ")
}

// inspectorFacts are the attempt's times, in both forms, and what it used.
func (b inspectorPart) inspectorFacts(i *Inspector, st *step, a *attempt) {
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
	from, until := st.started, st.until(b.Site.Now())
	if a != nil {
		if from = a.started; !a.ended.IsZero() {
			until = a.ended
		}
		if st.status != nodeLost {
			main(b.T("Duration"), kit.Took(until.Sub(from)))
			main(b.T("Total"), kit.Took(st.took(b.Site.Now())))
		}
	}
	if flow, err := b.flow(); err == nil { // a hint: the page does not fail for it
		if n := flow.Nodes[st.node]; n != nil && n.Settled > n.Failed {
			main(b.T("Usually"), kit.Took(n.P50))
		}
	}
	if n, ok := b.program.Index[st.node]; ok {
		main(b.T("Side effects"), value.Effect(b.Context, string(b.effects[n])))
	}
	i.Began = b.Time(from)
	if u := st.usage(); !u.Zero() {
		add(b.T("Tokens"), b.Number(u.InputTokens)+" → "+b.Number(u.OutputTokens))
		add(b.T("Cost"), value.Cost(b.Context, u.Cost))
	}
	agent := st.last.Agent
	for _, c := range st.calls {
		agent = cmp.Or(agent, c.Agent)
	}
	b.participants(st, a, agent, add)
}

// fate reports what resuming would do with a step: it comes from the same preview
// that the act is done by.
func (b inspectorPart) fate(st *step) string {
	pre := b.resume()
	if pre == nil {
		return ""
	}
	in := func(list []domain.PreviewStep) *domain.PreviewStep {
		for i := range list {
			s := &list[i]
			if s.Node == st.node && (s.Visit == st.visit || s.Visit == 0) &&
				(st.item < 0 || len(s.Items) == 0 || slices.Contains(s.Items, st.item)) {
				return s
			}
		}
		return nil
	}
	switch {
	case in(pre.InDoubt) != nil:
		return b.T("Resuming needs a decision about this step first.")
	case st.item >= 0 && st.status == domain.NodeCompleted && in(pre.Again) == nil:
		return b.T("Resuming keeps this result; the step is not repeated.")
	case in(pre.Again) != nil:
		return b.T("Resuming runs this step again.")
	case in(pre.Keep) != nil:
		return b.T("Resuming keeps this result; the step is not repeated.")
	}
	return ""
}

// reopens reports whether a resume opens the step again because of itself.
func (b inspectorPart) reopens(st *step) bool {
	pre := b.resume()
	return pre != nil && slices.ContainsFunc(pre.Again, func(s domain.PreviewStep) bool {
		return s.Node == st.node && s.Visit == st.visit && s.Reopened()
	})
}

// nodeInspector shows a node with no step: what it is, and why it did not run.
func (b inspectorPart) nodeInspector(node string) Inspector {
	i := Inspector{Detail: detail.Detail{Name: node, Key: "node-" + node, Sub: b.aboutNode(node)}}
	state, why := b.noStep(node)
	pre := b.resume()
	i.Status = wordOf(state)
	switch {
	case state == "failed":
		i.Resume = b.T("It failed before it started.") + " " + why
	case why != "":
		i.Resume = why
	case state == passed:
		i.Resume = b.T("The run continued without it.")
	case pre != nil && slices.ContainsFunc(pre.New, func(s domain.PreviewStep) bool { return s.Node == node }):
		i.Resume = b.T("It has not started. Resuming may run it for the first time.")
	default:
		i.Resume = b.T("It has not started.")
	}
	i.Blocks = []kit.Block{b.definition(node)}
	return i
}
