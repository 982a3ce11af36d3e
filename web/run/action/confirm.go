package action

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// confirmation is a request of the page on which a person confirms an action of an MCP client.
type confirmation struct{ *request }

// confirms returns a handler that calls handle with a request.
func (s *section) confirms(handle func(confirmation) error) func(*ui.Context) error {
	return s.page(func(r *request) error { return handle(confirmation{r}) })
}

// requested is the action that a person confirms. The address or the form names it.
func (r confirmation) requested() (v actionText, req domain.ActionRequest, err error) {
	v, _ = actionTextOf(r.Field("action"))
	if !slices.Contains(app.Confirmable, v.action) {
		return v, req, domain.Errorf(domain.CodeInvalid, "unknown action %q", kit.Truncate(r.Field("action"), 40)).
			Suggest("use resume, rerun, fork, or cancel")
	}
	req = domain.ActionRequest{Run: r.Param("run"), Action: v.action, Digest: r.Field("digest")}
	if s := r.Field("at"); s != "" {
		if req.At, err = strconv.ParseInt(s, 10, 64); err != nil {
			err = domain.Errorf(domain.CodeInvalid, "at %q is not a checkpoint", s)
		}
	}
	return v, req, err
}

// page shows what the digest of an MCP client covers, with a button that confirms it.
func (r confirmation) page() error {
	v, req, err := r.requested()
	if err != nil {
		return err
	}
	return r.show(http.StatusOK, v, req, "")
}

func (r confirmation) show(code int, v actionText, req domain.ActionRequest, problem string) error {
	run, err := r.App.Runs.Find(r.Context, r.Principal.Actor(), req.Run)
	if err != nil {
		return err
	}
	pre, err := r.App.Runs.Preview(r.Context, r.Principal.Actor(), domain.ActionRequest{Run: run.ID, Action: req.Action, At: req.At})
	if err != nil {
		return err
	}
	p := r.newPreview(v, run, problem)
	r.fill(&p, pre)
	p.Points, p.Repeats = nil, nil // the client has chosen
	if v.text == "" {
		p.Sentence = part.Consequence(r.Context, pre)
	}
	p.Sentence += " " + r.T("After you confirm, the MCP client can do exactly this once, within 15 minutes.")
	var twice []string
	for _, s := range pre.Repeats {
		twice = append(twice, kit.Escape(s.Node)+" · "+value.Effect(r.Context, s.Effect))
	}
	if len(twice) > 0 {
		p.Groups = append([]PreviewGroup{{Title: r.T("Repeats its side effects"), Steps: twice}}, p.Groups...)
	}
	p.Button = r.T("Confirm: %s", p.Button)
	p.Post, p.Confirm, p.At = "/runs/"+run.ID+"/confirm", true, nonZero(req.At)
	if p.Allowed && pre.Digest != req.Digest {
		p.Allowed, p.Refusal = false, r.T("The preview has changed since the MCP client made it.")
		p.Suggestion = r.T("Let the client preview the action again.")
	}
	return r.Render(code, Preview(p))
}

// confirm records that the person agrees to what the page showed, or refuses it.
func (r confirmation) confirm() error {
	v, req, err := r.requested()
	if err != nil {
		return err
	}
	req.Reason = r.Field("reason")
	if r.Field("do") == "refuse" {
		run, err := r.App.Runs.Refuse(r.Context, app.ActRequest{Meta: r.Meta(), ActionRequest: req})
		if err != nil {
			return err
		}
		return r.RedirectTo(part.At(r.Context, run.ID, nil))
	}
	p, err := r.App.Runs.Confirm(r.Context, app.ActRequest{Meta: r.Meta(), ActionRequest: req})
	switch domain.CodeOf(err) {
	case "":
		return r.RedirectTo(part.At(r.Context, p.Run, nil))
	case domain.CodeStale, domain.CodeConflict:
		return r.show(http.StatusConflict, v, req, r.Sentence(err))
	}
	return err
}
