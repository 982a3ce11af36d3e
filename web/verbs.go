package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// stepReasons are the engine's reasons that have words of their own.
var stepReasons = map[string]string{
	domain.ReasonReopened:   locale.Mark("it failed or was cancelled"),
	domain.ReasonAskedAgain: locale.Mark("a new request is opened; the old answer does not count"),
	domain.ReasonCancelled:  locale.Mark("cancelled with the run"),
	domain.ReasonAtWork:     locale.Mark("it is at work and is asked to end"),
	domain.ReasonUnsafeWork: locale.Mark("it is at work and may have its effect all the same; a resume first asks whether it had"),
}

// verb is what a page says of an operator's act. The words name act and object:
// a button never says OK.
type verb struct {
	action  domain.Action
	button  string // with %s for the run's short id
	says    string
	danger  bool
	preview bool // the engine computes what would happen
}

var verbs = []verb{
	{domain.ActionResume, locale.Mark("Resume run %s"), "", false, true},
	{domain.ActionRerun, locale.Mark("Start a new run like %s"), locale.Mark("A new run starts from the beginning; this one is not changed."), false, true},
	{domain.ActionFork, locale.Mark("Fork run %s"), locale.Mark("A new run starts from a checkpoint of this one; this one is not changed."), false, true},
	{domain.ActionCancel, locale.Mark("Cancel run %s"), locale.Mark("Nothing new starts; what runs is asked to end, and settles within seconds."), true, true},
	{domain.ActionPause, locale.Mark("Pause run %s"), locale.Mark("What runs, finishes; nothing new starts until you continue the run."), false, false},
	{domain.ActionContinue, locale.Mark("Continue run %s"), locale.Mark("The run goes on where it was paused."), false, false},
	{domain.ActionRetryNow, locale.Mark("Retry now in run %s"), locale.Mark("The next attempt does not wait for its back-off."), false, false},
	{domain.ActionRelease, locale.Mark("Release run %s"), locale.Mark("The run goes on. It was parked because it had been interrupted again and again, or because the database was restored."), false, false},
	{domain.ActionStartNow, locale.Mark("Start run %s now"), locale.Mark("The run was to start at a later time. It starts as soon as there is room."), false, false},
	{domain.ActionLimits, locale.Mark("Raise the limits of run %s"), locale.Mark("The run continues where it stopped. A number replaces a limit; +5000 adds to it."), false, false},
	{domain.ActionDelete, locale.Mark("Delete run %s"), locale.Mark("The run disappears from all lists. Its journal stays until retention removes it."), true, false},
}

func verbOf(name string) (verb, bool) {
	i := slices.IndexFunc(verbs, func(v verb) bool { return string(v.action) == name })
	if i < 0 {
		return verb{}, false
	}
	return verbs[i], true
}

// verbRequest reads what a form or a link asks for.
func (r *request) verbRequest(v verb) (domain.VerbRequest, error) {
	value := func(key string) string { return strings.TrimSpace(r.c.FormValue(key)) }
	req := domain.VerbRequest{Run: r.c.Param("run"), Action: v.action, Reason: value("reason"), Digest: value("digest")}
	var err error
	if s := value("rev"); s != "" {
		if req.Rev, err = strconv.ParseInt(s, 10, 64); err != nil {
			return req, domain.Errorf(domain.CodeInvalid, "rev %q is not a number", s)
		}
	}
	switch v.action {
	case domain.ActionResume:
		if err := r.resumeOptions(&req); err != nil {
			return req, err
		}
	case domain.ActionFork:
		r.standIns(&req)
		if s := value("at"); s != "" {
			if req.At, err = strconv.ParseInt(s, 10, 64); err != nil {
				return req, domain.Errorf(domain.CodeInvalid, "at %q is not a checkpoint", s)
			}
		}
		r.edits(&req)
		fallthrough
	case domain.ActionRerun:
		if s := value("version"); s != "" {
			if req.Version, err = strconv.Atoi(s); err != nil {
				return req, domain.Errorf(domain.CodeInvalid, "version %q is not a number", s)
			}
		}
		if s := r.c.FormValue("input"); strings.TrimSpace(s) != "" {
			req.Input = r.changed("input", s, r.c.FormValue("was_input"))
		}
		if form := r.c.Request().Form; form.Has("labels") && value("labels") != value("was_labels") {
			if req.Labels, err = labelsOf(value("labels")); err != nil {
				if r.wrong == nil {
					r.wrong = map[string]typed{}
				}
				r.wrong["labels"] = typed{value("labels"), r.sentence(err)}
				req.Labels = nil
			}
		}
	case domain.ActionLimits:
		if req.Limits, req.Raise, err = r.limits(); err != nil {
			return req, err
		}
	}
	return req, nil
}

// limits reads the limits that a form changes: a number replaces one, a number with
// a plus sign is added to it.
func (r *request) limits() (set, raise domain.Limits, err error) {
	read := func(key string, into func(l *domain.Limits, s string) error) {
		s := strings.TrimSpace(r.c.FormValue(key))
		if s == "" || err != nil || s == r.c.FormValue("was_"+key) {
			return
		}
		l, amount := &set, s
		if more, plus := strings.CutPrefix(s, "+"); plus {
			l, amount = &raise, more
		}
		if e := into(l, amount); e != nil {
			err = domain.Errorf(domain.CodeInvalid, "%s %q cannot be read", key, s)
		}
	}
	read("steps", func(l *domain.Limits, s string) (e error) { l.MaxSteps, e = strconv.ParseInt(s, 10, 64); return e })
	read("tokens", func(l *domain.Limits, s string) (e error) { l.MaxTokens, e = strconv.ParseInt(s, 10, 64); return e })
	read("cost", func(l *domain.Limits, s string) (e error) { l.MaxCost, e = strconv.ParseFloat(s, 64); return e })
	read("duration", func(l *domain.Limits, s string) (e error) { l.MaxDuration, e = time.ParseDuration(s); return e })
	return set, raise, err
}

// previewPage says what an act would do; it is safe to open (GET).
func (r *request) previewPage() error {
	v, ok := verbOf(r.c.Param("action"))
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "there is no page %s of a run", r.c.Param("action"))
	}
	req, err := r.verbRequest(v)
	if err != nil {
		return err
	}
	req.Rev, req.Digest = 0, ""
	return r.preview(http.StatusOK, v, req, "")
}

func (r *request) preview(code int, v verb, req domain.VerbRequest, problem string) error {
	run, err := r.s.Reader.FindRun(r.ctx, req.Run)
	if err != nil {
		return err
	}
	short := domain.ShortID(run.ID)
	p := view.PreviewPage{Shell: r.shell("runs", r.t(v.button, short)), Action: string(v.action), Verb: r.t(v.button, short), Run: short,
		RunHref: "/runs/" + run.ID, Post: "/runs/" + run.ID + "/" + string(v.action), Allowed: true, Sentence: r.t(v.says), Danger: v.danger, Reason: true,
		Idem: newID(), Rev: strconv.FormatInt(run.LastSeq, 10), Error: problem}
	began := run.Version // the version that "the same" is
	if len(r.wrong) > 0 && problem == "" {
		n := len(r.wrong)
		if w, ok := r.wrong["labels"]; ok {
			p.Error, p.Mend = w.why, true
			n--
		}
		if n > 0 {
			p.Error, p.Mend = r.n(n, "%s value is not JSON", "%s values are not JSON"), true
		}
	}
	var pre domain.Preview
	if !v.preview { // what it does needs no list; whether it can be done now is said before
		now, err := r.s.Engine.Preview(r.ctx, r.who.actor(), domain.VerbRequest{Run: run.ID, Action: v.action})
		if err != nil {
			return err
		}
		if p.Rev = strconv.FormatInt(now.Rev, 10); !now.Allowed {
			p.Allowed, p.Refusal, p.Suggestion = false, begun(r.saidInside(now.Refusal)), begun(r.said(now.Suggestion))
		}
	}
	if v.preview {
		pre, err = r.s.Engine.Preview(r.ctx, r.who.actor(), req)
		if domain.CodeOf(err) == domain.CodeInvalid && (req.Input != nil || len(req.Edits) > 0 || len(req.Instead) > 0 || asksMore(req)) {
			// What was typed cannot be used: say so beside it, and go on without.
			p.Error, p.Mend, code = r.sentence(err), true, http.StatusUnprocessableEntity
			without := req
			without.Input, without.Edits, without.Instead = nil, nil, nil
			without.Only, without.Timeout, without.Attempts = "", 0, 0
			pre, err = r.s.Engine.Preview(r.ctx, r.who.actor(), without)
		}
		if err != nil {
			return err
		}
		r.fill(&p, pre)
		if req.Version == 0 && pre.Version != 0 {
			began = pre.Version
		}
		if v.says == "" {
			p.Sentence = r.consequence(pre)
		}
		if v.action != domain.ActionCancel {
			expected, err := r.expected(run.PlanKey, pre)
			if err != nil {
				return err
			}
			p.Sentence = strings.TrimSpace(p.Sentence + " " + expected)
		}
	}
	if v.action == domain.ActionResume {
		if err := r.resumeChoices(&p, req, run); err != nil {
			return err
		}
	}
	switch v.action {
	case domain.ActionFork, domain.ActionRerun:
		if err := r.choices(&p, v, req, pre, run, began); err != nil {
			return err
		}
	case domain.ActionRetryNow:
		d, err := r.s.Engine.Detail(r.ctx, run.ID)
		if err != nil {
			return err
		}
		if err := r.nextAttempts(&p, d); err != nil {
			return err
		}
	case domain.ActionLimits:
		p.Limits = true
		p.LimitValues = map[string]string{"steps": nonZero(run.Limits.MaxSteps), "tokens": nonZero(run.Limits.MaxTokens)}
		if run.Limits.MaxDuration > 0 {
			p.LimitValues["duration"] = run.Limits.MaxDuration.String()
		}
		if run.Limits.MaxCost > 0 {
			p.LimitValues["cost"] = strconv.FormatFloat(run.Limits.MaxCost, 'f', -1, 64)
		}
	}
	if r.htmx() && r.c.Request().Header.Get("HX-Target") == "preview" {
		return r.render(code, view.PreviewPanel(p))
	}
	return r.render(code, view.Preview(p))
}

// nextAttempts says which attempts do not wait any more, and how long they would have.
func (r *request) nextAttempts(p *view.PreviewPage, d domain.RunDetail) error {
	program, err := r.s.Engine.Program(r.ctx, d.Run.Hash)
	if err != nil {
		return err
	}
	for _, w := range d.Waits {
		if w.Reason != domain.WaitRetry || w.Due.IsZero() {
			continue
		}
		done := 0
		for _, e := range d.Journal {
			if e.Node == w.Node && e.Visit == w.Visit && e.Item == w.Item {
				done = max(done, e.Attempt)
			}
		}
		most := done + 1
		if i, ok := program.Index[w.Node]; ok {
			most = max(most, program.Nodes[i].MaxAttempts)
		}
		p.Sentence += " " + r.t("Attempt %s of %s of %s would begin by itself at %s, %s.", r.number(int64(done+1)), r.number(int64(most)), stepName(w.Node, w.Visit), r.time(w.Due).Title, r.ago(r.s.now().Sub(w.Due)))
	}
	return nil
}

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// fill copies the engine's prediction into the page.
func (r *request) fill(p *view.PreviewPage, pre domain.Preview) {
	p.Allowed, p.Refusal, p.Suggestion, p.Digest = pre.Allowed, begun(r.saidInside(pre.Refusal)), begun(r.said(pre.Suggestion)), pre.Digest
	p.Rev = strconv.FormatInt(pre.Rev, 10)
	if d := pre.Damage; d != nil {
		p.Damage = r.damageHeadline(d)
	}
	for _, g := range []struct {
		title, note string
		steps       []domain.PreviewStep
	}{{r.t("Runs again"), "", pre.Again}, {r.t("Runs for the first time"), r.t("as far as the plan leads there"), pre.New}, {r.t("In doubt"), r.t("resolve first"), pre.InDoubt},
		{r.t("Waits until you continue the run"), "", pre.Later}, {r.t("Gets a result without running"), "", pre.Given},
		{r.t("Not kept"), "", pre.Dropped}, {r.t("Kept, not repeated"), "", pre.Keep}} {
		if len(g.steps) == 0 {
			continue
		}
		group := view.PreviewGroup{Title: fmt.Sprintf("%s (%d)", g.title, len(g.steps)), Note: g.note}
		for i, s := range g.steps {
			if i == 50 {
				group.Steps = append(group.Steps, r.t("… and %d more", len(g.steps)-50))
				break
			}
			text := s.Node
			if s.Visit > 1 {
				text += fmt.Sprintf(" #%d", s.Visit)
			}
			if len(s.Items) > 0 {
				text += " (" + r.n(len(s.Items), "%s item", "%s items") + ")"
			}
			if s.Reason != "" {
				reason := r.said(s.Reason)
				if w, ok := stepReasons[s.Reason]; ok {
					reason = r.t(w)
				}
				text += " — " + reason
			}
			group.Steps = append(group.Steps, text)
		}
		p.Groups = append(p.Groups, group)
	}
	for _, s := range pre.Effects {
		p.Effects = append(p.Effects, fmt.Sprintf("%s · %s · %s", s.Node, s.Type, r.effect(s.Effect)))
	}
	for _, pt := range pre.Points {
		o := view.Option{Value: strconv.FormatInt(pt.Seq, 10), Text: fmt.Sprintf("%d · %s", pt.Seq, r.pointName(pt)), Selected: pt.Seq == pre.At}
		if !pt.Closed && !o.Selected {
			o.Text, o.Disabled = o.Text+" — "+r.t("other steps were at work here"), true
		}
		p.Points = append(p.Points, o)
	}
	r.repeats(p, pre)
	for _, d := range pre.Decisions {
		name, to, was := stepName(d.Node, d.Visit), cmp.Or(d.To, d.Ended), d.Was
		text := r.t("%s leads to %s", name, to)
		if was != "" && was != d.To {
			text = r.t("%s leads to %s; it was %s", name, to, was)
		}
		if d.Condition != "" {
			text += " (" + d.Condition + ")"
		}
		p.Decisions = append(p.Decisions, visible(text))
	}
}

// pointName is a checkpoint that a fork may start from.
func (r *request) pointName(pt domain.ForkPoint) string {
	if pt.Node == "" {
		return r.t("input")
	}
	name := visible(pt.Node)
	if pt.Visit > 1 {
		name = r.t("%s (visit %d)", name, pt.Visit)
	}
	if i := strings.LastIndex(pt.Label, " ["); i >= 0 && strings.HasSuffix(pt.Label, "]") { // an item of a foreach
		name += pt.Label[i:]
	}
	return r.t("after %s", name)
}

// act does what was previewed. If the run has moved on since, the same page
// comes back with the new facts (409).
func (r *request) act() error {
	v, ok := verbOf(r.c.Param("action"))
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "there is no act %s", r.c.Param("action"))
	}
	req, err := r.verbRequest(v)
	if err != nil {
		return err
	}
	if do := r.c.FormValue("do"); do == "preview" || do == "check" {
		req.Rev, req.Digest = 0, ""
		return r.preview(http.StatusOK, v, req, "")
	}
	if len(r.wrong) > 0 {
		req.Rev, req.Digest = 0, ""
		return r.preview(http.StatusUnprocessableEntity, v, req, "")
	}
	if v.action == domain.ActionFork || v.action == domain.ActionRerun || asksMore(req) {
		// The form may have been edited since its digest was made; what counts is
		// the run's revision, and a fresh prediction of exactly this request.
		req.Digest = ""
	}
	if v.action == domain.ActionPause || v.action == domain.ActionContinue {
		req.Rev = 0 // what it did since its page was made is no reason to refuse
	}
	run, err := r.s.App.Runs.Act(r.ctx, app.ActRequest{Meta: r.meta(), VerbRequest: req})
	if err == nil && v.action == domain.ActionDelete {
		return r.to("/runs")
	} else if err == nil {
		return r.to(r.runAt(run.ID, nil))
	}
	switch domain.CodeOf(err) {
	case domain.CodeStale, domain.CodeConflict:
		req.Rev, req.Digest = 0, ""
		return r.preview(http.StatusConflict, v, req, r.sentence(err))
	case domain.CodeInvalid:
		if v.action == domain.ActionFork || v.action == domain.ActionRerun || asksMore(req) {
			req.Rev, req.Digest = 0, ""
			return r.preview(http.StatusUnprocessableEntity, v, req, "")
		}
	}
	return err
}

// resolve settles an attempt that may or may not have happened.
func (r *request) resolve() error {
	number := func(key string) int {
		n, err := strconv.Atoi(r.c.FormValue(key))
		if err != nil {
			return -1
		}
		return n
	}
	req := domain.ResolveRequest{Run: r.c.Param("run"), Node: r.c.Param("node"), Visit: number("visit"), Item: number("item"), Attempt: number("attempt"),
		Action: r.c.FormValue("action"), Reason: r.c.FormValue("reason")}
	if n := number("rev"); n > 0 {
		req.Rev = int64(n)
	}
	if req.Action == "happened" {
		j, err := jsonOf(r.c.FormValue("output"))
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "the output is not JSON: %w", err)
		}
		req.Output = j
	}
	run, err := r.s.App.Runs.Resolve(r.ctx, app.ResolveRequest{Meta: r.meta(), ResolveRequest: req})
	if err != nil {
		return err
	}
	return r.to("/runs/" + url.PathEscape(run.ID))
}
