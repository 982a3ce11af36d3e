package action

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
)

// actionText describes an action. Buttons name the action and the object, never just "OK".
type actionText struct {
	action  domain.Action
	button  string // with %s for the run's short id
	text    string
	danger  bool
	preview bool // the engine previews the effect
}

var actionTexts = []actionText{
	{domain.ActionResume, locale.Mark("Resume run %s"), "", false, true},
	{
		domain.ActionRerun,
		locale.Mark("Start a new run like %s"),
		locale.Mark("Starts a new run from the beginning. This run does not change."),
		false,
		true,
	},
	{
		domain.ActionFork,
		locale.Mark("Fork run %s"),
		locale.Mark("Starts a new run from a checkpoint of this run. This run does not change."),
		false,
		true,
	},
	{
		domain.ActionUndo,
		locale.Mark("Undo the steps of run %s"),
		locale.Mark("Starts a run that makes these calls one after the other. This run does not change."),
		true,
		true,
	},
	{domain.ActionCancel, locale.Mark("Cancel run %s"), locale.Mark("No new steps start. Running steps stop within seconds."), true, true},
	{
		domain.ActionPause,
		locale.Mark("Pause run %s"),
		locale.Mark("Running steps finish. No new steps start until you resume the run."),
		false,
		false,
	},
	{domain.ActionUnpause, locale.Mark("Continue run %s"), locale.Mark("The run continues where it was paused."), false, false},
	{
		domain.ActionRetryNow,
		locale.Mark("Retry now in run %s"),
		locale.Mark("The next attempt does not wait for its back-off."),
		false,
		false,
	},
	{
		domain.ActionRelease,
		locale.Mark("Release run %s"),
		locale.Mark(
			"The run continues. It was quarantined because it had been interrupted repeatedly, or held because the database was restored.",
		),
		false,
		false,
	},
	{
		domain.ActionStartNow,
		locale.Mark("Start run %s now"),
		locale.Mark("The run was scheduled for later. It now starts as soon as a slot is free."),
		false,
		false,
	},
	{
		domain.ActionLimits,
		locale.Mark("Raise the limits of run %s"),
		locale.Mark("The run continues where it stopped. A number replaces a limit; +5000 adds to it."),
		false,
		false,
	},
	{
		domain.ActionDelete,
		locale.Mark("Delete run %s"),
		locale.Mark("The run disappears from all lists. Its journal stays until retention removes it."),
		true,
		false,
	},
}

func actionTextOf(name string) (actionText, bool) {
	i := slices.IndexFunc(actionTexts, func(v actionText) bool { return string(v.action) == name })
	if i < 0 {
		return actionText{}, false
	}
	return actionTexts[i], true
}

// actionRequest reads the request of a form or link.
func (r *request) actionRequest(v actionText) (domain.ActionRequest, error) {
	value := func(key string) string { return strings.TrimSpace(r.Field(key)) }
	req := domain.ActionRequest{Run: r.Param("run"), Action: v.action, Reason: value("reason"), Digest: value("digest")}
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
		r.overrides(&req)
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
		if s := value("profile"); s != "" && s != sameProfile {
			s = strings.TrimPrefix(s, noProfile)
			req.Profile = &s
		}
		if s := r.Field("input"); strings.TrimSpace(s) != "" {
			req.Input = r.changed("input", s, r.Field("was_input"))
		}
		if form := r.Echo.Request().Form; form.Has("labels") && value("labels") != value("was_labels") {
			if req.Labels, err = part.ParseLabels(value("labels")); err != nil {
				if r.wrong == nil {
					r.wrong = map[string]typed{}
				}
				r.wrong["labels"] = typed{value("labels"), r.Sentence(err)}
				req.Labels = nil
			}
		}
	case domain.ActionUndo:
		req.Skip = r.skips()
	case domain.ActionLimits:
		if req.Limits, req.Raise, err = r.limits(); err != nil {
			return req, err
		}
	}
	return req, nil
}

// limits reads changed limits from a form. A number sets a limit, and a number with a plus sign
// raises it.
func (r *request) limits() (set, raise domain.Limits, err error) {
	read := func(key string, into func(l *domain.Limits, s string) error) {
		s := strings.TrimSpace(r.Field(key))
		if s == "" || err != nil || s == r.Field("was_"+key) {
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

// previewPage renders the preview of an action. It handles GET requests and changes nothing.
func (r *request) previewPage() error {
	v, ok := actionTextOf(r.Param("action"))
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "there is no page %s of a run", r.Param("action"))
	}
	req, err := r.actionRequest(v)
	if err != nil {
		return err
	}
	req.Rev, req.Digest = 0, ""
	if v.action == domain.ActionFork && !r.Echo.QueryParams().Has("at") {
		if req.At, err = r.beforeFailure(req); err != nil {
			return err
		}
	}
	return r.preview(http.StatusOK, v, req, "")
}

// nextAttempts shows which attempts start immediately, and how long they would have waited.
func (r *request) nextAttempts(p *PreviewPage, d domain.RunDetail) error {
	program, err := r.Engine.Program(r.Context, d.Run.ProgramRef)
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
			most = max(most, program.Nodes[i].MostAttempts())
		}
		p.Sentence += " " + r.T(
			"Attempt %s of %s of %s would begin automatically at %s, %s.",
			r.Number(int64(done+1)),
			r.Number(int64(most)),
			kit.StepName(w.Node, w.Visit),
			r.Time(w.Due).Title,
			r.Ago(r.Site.Now().Sub(w.Due)),
		)
	}
	return nil
}

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// stepGroup is a list of steps to which the same happens.
type stepGroup struct {
	title, note string
	steps       []domain.PreviewStep
}

// groups returns the lists of a preview with their titles.
func (r *request) groups(pre domain.Preview) []stepGroup {
	if pre.Action == domain.ActionUndo {
		return []stepGroup{{r.T("Not undone"), "", pre.Keep}, {r.T("Left for another undo"), "", pre.Later}}
	}
	return []stepGroup{
		{r.T("Runs again"), "", pre.Again}, {r.T("Runs for the first time"), r.T("as far as the plan leads there"), pre.New},
		{r.T("In doubt"), r.T("resolve first"), pre.InDoubt},
		{r.T("Waits until you continue the run"), "", pre.Later}, {r.T("Gets a result without running"), "", pre.Given},
		{r.T("Not kept"), "", pre.Dropped}, {r.T("Kept, not repeated"), "", pre.Keep},
	}
}

// fill copies the engine's preview to the page.
func (r *request) fill(p *PreviewPage, pre domain.Preview) {
	p.Allowed, p.Refusal, p.Suggestion, p.Digest = pre.Allowed, kit.Capitalize(
		r.Message(pre.Refusal),
	), kit.Capitalize(
		r.Message(pre.Suggestion),
	), pre.Digest
	p.Rev = strconv.FormatInt(pre.Rev, 10)
	if d := pre.Damage; d != nil {
		p.Damage = part.DamageHeadline(r.Context, d)
	}
	for _, g := range r.groups(pre) {
		if len(g.steps) == 0 {
			continue
		}
		group := PreviewGroup{Title: fmt.Sprintf("%s (%d)", g.title, len(g.steps)), Note: g.note}
		for i, s := range g.steps {
			if i == 50 {
				group.Steps = append(group.Steps, r.T("… and %d more", len(g.steps)-50))
				break
			}
			text := s.Node
			if s.Visit > 1 {
				text += fmt.Sprintf(" #%d", s.Visit)
			}
			if len(s.Items) > 0 {
				text += " (" + r.N(len(s.Items), "%s item", "%s items") + ")"
			}
			if !s.Reason.IsZero() {
				text += " — " + r.Message(s.Reason)
			}
			group.Steps = append(group.Steps, text)
		}
		p.Groups = append(p.Groups, group)
	}
	for _, s := range pre.Effects {
		p.Effects = append(p.Effects, fmt.Sprintf("%s · %s · %s", s.Node, s.Type, value.Effect(r.Context, s.Effect)))
	}
	for _, pt := range pre.Points {
		o := kit.Option{
			Value:    strconv.FormatInt(pt.Seq, 10),
			Text:     fmt.Sprintf("%d · %s", pt.Seq, part.PointName(r.Context, pt)),
			Selected: pt.Seq == pre.At,
		}
		if !pt.Closed && !o.Selected {
			o.Text, o.Disabled = o.Text+" — "+r.T("other steps were active here"), true
		}
		p.Points = append(p.Points, o)
	}
	r.repeats(p, pre)
	for _, d := range pre.Decisions {
		name, to, was := kit.StepName(d.Node, d.Visit), cmp.Or(d.To, d.Ended), d.Was
		text := r.T("%s leads to %s", name, to)
		if was != "" && was != d.To {
			text = r.T("%s leads to %s; it was %s", name, to, was)
		}
		if d.Condition != "" {
			text += " (" + d.Condition + ")"
		}
		p.Decisions = append(p.Decisions, kit.Escape(text))
	}
}

// act performs the previewed action. If the run has changed since the preview, it responds with an
// updated preview and status 409.
func (r *request) act() error {
	v, ok := actionTextOf(r.Param("action"))
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "unknown action %q", r.Param("action"))
	}
	req, err := r.actionRequest(v)
	if err != nil {
		return err
	}
	if do := r.Field("do"); do == "preview" || do == "check" {
		req.Rev, req.Digest = 0, ""
		return r.preview(http.StatusOK, v, req, "")
	}
	if len(r.wrong) > 0 {
		req.Rev, req.Digest = 0, ""
		return r.preview(http.StatusUnprocessableEntity, v, req, "")
	}
	if v.action == domain.ActionFork || v.action == domain.ActionRerun || asksMore(req) {
		// The form may have been edited after the preview, so the digest does not apply. The
		// revision of the run is still checked, and the engine previews exactly this request.
		req.Digest = ""
	}
	if v.action == domain.ActionPause || v.action == domain.ActionUnpause {
		req.Rev = 0 // later progress of the run does not matter
	}
	run, err := r.App.Runs.Act(r.Context, app.ActRequest{Meta: r.Meta(), ActionRequest: req})
	if err == nil && v.action == domain.ActionDelete {
		return r.RedirectTo("/runs")
	} else if err == nil {
		return r.RedirectTo(part.At(r.Context, run.ID, nil))
	}
	switch domain.CodeOf(err) {
	case domain.CodeStale, domain.CodeConflict:
		req.Rev, req.Digest = 0, ""
		return r.preview(http.StatusConflict, v, req, r.Sentence(err))
	case domain.CodeInvalid:
		if v.action == domain.ActionFork || v.action == domain.ActionRerun || asksMore(req) {
			req.Rev, req.Digest = 0, ""
			return r.preview(http.StatusUnprocessableEntity, v, req, "")
		}
	}
	return err
}

// resolve resolves an attempt in doubt.
func (r *request) resolve() error {
	number := func(key string) int {
		n, err := strconv.Atoi(r.Field(key))
		if err != nil {
			return -1
		}
		return n
	}
	req := domain.ResolveRequest{
		Run:     r.Param("run"),
		Node:    r.Param("node"),
		Visit:   number("visit"),
		Item:    number("item"),
		Attempt: number("attempt"),
		Action:  r.Field("action"),
		Reason:  r.Field("reason"),
	}
	if n := number("rev"); n > 0 {
		req.Rev = int64(n)
	}
	if req.Action == "happened" {
		j, err := form.JSON(r.Field("output"))
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "the output is not JSON: %w", err)
		}
		req.Output = j
	}
	run, err := r.App.Runs.Resolve(r.Context, app.ResolveRequest{Meta: r.Meta(), ResolveRequest: req})
	if err != nil {
		return err
	}
	return r.RedirectTo("/runs/" + url.PathEscape(run.ID))
}
