package action

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// preview shows what an action would do, with the form that requests it.
func (r *request) preview(code int, v actionText, req domain.ActionRequest, problem string) error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), req.Run)
	if err != nil {
		return err
	}
	p := r.newPreview(v, run, problem)
	r.markWrongInput(&p)
	var pre domain.Preview
	if v.preview {
		var invalid bool
		if pre, invalid, err = r.previewSteps(&p, v, req); err != nil {
			return err
		}
		if invalid {
			code = http.StatusUnprocessableEntity
		}
	} else if err := r.previewRefusal(&p, v, run.ID); err != nil {
		return err
	}
	if err := r.addChoices(&p, v, req, pre, run); err != nil {
		return err
	}
	switch {
	case r.Target() != "check":
		return r.Render(code, Preview(p))
	case !p.Allowed: // no longer possible since the form was opened
		r.Echo.Response().Header().Set("HX-Retarget", "#preview")
		return r.Render(code, PreviewPanel(p))
	}
	return r.Render(code, previewCheck(p))
}

// newPreview returns the page of an action that is allowed.
func (r *request) newPreview(v actionText, run domain.Run, problem string) PreviewPage {
	short := domain.ShortID(run.ID)
	button := r.T(v.button, short)
	return PreviewPage{
		Shell:   r.Shell("runs", button),
		Crumbs:  kit.Crumbs{Path: part.Crumbs(r.Context, run)},
		Action:  string(v.action),
		Button:  button,
		Run:     short,
		RunHref: "/runs/" + run.ID,
		Form: Form{
			Post:   "/runs/" + run.ID + "/" + string(v.action),
			Danger: v.danger,
			Reason: true,
			Idem:   kit.NewID(),
			Rev:    strconv.FormatInt(run.LastSeq, 10),
		},
		Verdict: Verdict{Allowed: true, Sentence: r.T(v.text), Error: problem},
	}
}

// markWrongInput states which submitted values are invalid.
func (r *request) markWrongInput(p *PreviewPage) {
	if len(r.wrong) == 0 || p.Error != "" {
		return
	}
	n := len(r.wrong)
	if w, ok := r.wrong["labels"]; ok {
		p.Error, p.InputError = w.why, true
		n--
	}
	if n > 0 {
		p.Error, p.InputError = r.N(n, "%s value is not JSON", "%s values are not JSON"), true
	}
}

// previewRefusal states whether an action without a list of steps is possible now.
func (r *request) previewRefusal(p *PreviewPage, v actionText, run string) error {
	now, err := r.App.Runs.Preview(r.Context, r.Principal.Actor(), domain.ActionRequest{Run: run, Action: v.action})
	if err != nil {
		return err
	}
	if p.Rev = strconv.FormatInt(now.Rev, 10); !now.Allowed {
		p.Allowed, p.Refusal, p.Suggestion = false, kit.Capitalize(r.Message(now.Refusal)), kit.Capitalize(r.Message(now.Suggestion))
	}
	return nil
}

// previewSteps shows which steps the action runs. If a submitted value is invalid, it shows the
// error next to the value, and the preview without it.
func (r *request) previewSteps(p *PreviewPage, v actionText, req domain.ActionRequest) (pre domain.Preview, invalid bool, err error) {
	pre, err = r.App.Runs.Preview(r.Context, r.Principal.Actor(), req)
	if domain.CodeOf(err) == domain.CodeInvalid && (req.Input != nil || len(req.Edits) > 0 || len(req.Instead) > 0 || asksMore(req)) {
		p.Error, p.InputError, invalid = r.Sentence(err), true, true
		req.Input, req.Edits, req.Instead = nil, nil, nil
		req.Only, req.Timeout, req.Attempts = "", 0, 0
		pre, err = r.App.Runs.Preview(r.Context, r.Principal.Actor(), req)
	}
	if err != nil {
		return pre, invalid, err
	}
	r.fill(p, pre)
	if v.text == "" {
		p.Sentence = part.Consequence(r.Context, pre)
	}
	if v.action != domain.ActionCancel {
		p.Sentence = strings.TrimSpace(p.Sentence + " " + part.Expectation(r.Context, pre.Expected, 1))
	}
	return pre, invalid, nil
}

// addChoices adds what the user may choose, such as the version, the input, or limits.
func (r *request) addChoices(p *PreviewPage, v actionText, req domain.ActionRequest, pre domain.Preview, run domain.Run) error {
	switch v.action {
	case domain.ActionResume:
		if !p.Allowed && run.Status.Final() {
			p.Instead = []kit.Link{{Text: r.T("Fork…"), Href: p.RunHref + "/fork"}, {Text: r.T("Rerun…"), Href: p.RunHref + "/rerun"}}
		}
		return r.resumeChoices(p, req, run)
	case domain.ActionUndo:
		r.undoChoices(p, req, pre)
	case domain.ActionFork, domain.ActionRerun:
		began := run.Version // version that a new run uses by default
		if req.Version == 0 && pre.Version != 0 {
			began = pre.Version
		}
		return r.choices(p, v, req, pre, run, began)
	case domain.ActionRetryNow:
		d, err := r.Engine.Detail(r.Context, run.ID)
		if err != nil {
			return err
		}
		return r.nextAttempts(p, d)
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
	return nil
}
