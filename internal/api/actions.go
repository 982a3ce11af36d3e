package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// actionHandler serves actions on runs.
type actionHandler struct {
	runs *app.Runs
}

func (h actionHandler) routes(a *API) {
	h.ackRoutes(a)
	mount(a, a.action("resume-run", "resume", "Resume a run", "Continues the run in the state that it is in. A run that ended "+
		"runs its failed and unfinished steps again, a paused run continues, and a step that waits for a retry starts now."), h.resume)
	mount(a, a.action("rerun-run", "rerun", "Start a run again with the same input", ""), h.rerun)
	mount(a, a.action("fork-run", "fork", "Start a new run from a checkpoint of a run", ""), h.fork)
	mount(a, a.action("undo-run", "undo", "Undo the completed steps of a run", "Starts a run that calls the undo of each completed "+
		"step, the newest first. The run must have ended. Send the digest of a preview."), h.undo)
	mount(a, a.action("cancel-run", "cancel", "Cancel a run",
		"No new step starts, and running steps are stopped. Another status than cancelled means that they are still stopping."),
		func(ctx context.Context, in *actIn) (*actedOut, error) { return h.act(ctx, in, domain.ActionCancel) })
	mount(a, a.action("pause-run", "pause", "Pause a run", "Running steps finish, and no new step starts."),
		func(ctx context.Context, in *actIn) (*actedOut, error) { return h.act(ctx, in, domain.ActionPause) })
	mount(a, a.action("unpause-run", "unpause", "Unpause a run", "A run that is not paused does not change."),
		func(ctx context.Context, in *actIn) (*actedOut, error) { return h.act(ctx, in, domain.ActionUnpause) })
	update := a.action("update-run", "", "Change the limits and the labels of a run", "")
	update.Method = http.MethodPatch
	mount(a, update, h.update)
	remove := a.action("delete-run", "", "Delete a run", "Lists leave the run out. Retention removes it when its time ends.")
	remove.Method = http.MethodDelete
	mount(a, remove, h.remove)
	mount(a, huma.Operation{OperationID: "confirm-action", Method: http.MethodPost, Path: "/runs/{id}/confirm", Tags: []string{"actions"},
		Summary:     "Confirm an action that an MCP client previewed",
		Description: "The client can then carry out the action once, within 15 minutes. Tokens cannot confirm."}, h.confirm)
	mount(a, huma.Operation{OperationID: "refuse-action", Method: http.MethodPost, Path: "/runs/{id}/refuse", Tags: []string{"actions"},
		Summary: "Refuse an action that an MCP client asks for", Description: "Tokens cannot refuse."}, h.refuse)
	mount(a, huma.Operation{OperationID: "get-requested-actions", Method: http.MethodGet, Path: "/requested-actions",
		Tags: []string{"actions"}, Summary: "List the actions that MCP clients ask a person to confirm, newest first"}, h.requested)
	mount(a, huma.Operation{OperationID: "resolve-node", Method: http.MethodPost, Path: "/runs/{id}/nodes/{node}/resolve",
		Tags: []string{"actions"}, Summary: "Resolve a step in doubt"}, h.resolve)
}

// action describes an action on a run, which ?preview=true only predicts.
func (a *API) action(id, name, summary, description string) huma.Operation {
	path, status := "/runs/{id}", http.StatusOK
	if name != "" {
		path += "/" + name
	}
	run, preview := reflect.TypeFor[apitypes.Run](), reflect.TypeFor[domain.Preview]()
	responses := map[string]*huma.Response{"200": a.oneOf("The run, or with preview the prediction", run, preview)}
	if id == "rerun-run" || id == "fork-run" || id == "undo-run" {
		status = http.StatusCreated
		responses = map[string]*huma.Response{"201": a.jsonResponse("The new run", run), "200": a.jsonResponse("The prediction", preview)}
	}
	return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Tags: []string{"actions"}, Summary: summary,
		Description: description, DefaultStatus: status, Responses: responses}
}

// ActionIn names the run of an action.
type ActionIn struct {
	RunIn
	Preview bool   `query:"preview" doc:"Only predict what the action would do. Requires the role viewer."`
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the run as you saw it; 409 if the run has changed."`
}

type (
	actIn struct {
		ActionIn
		Body *apitypes.PreviewedOptions
	}
	resumeIn struct {
		ActionIn
		Body *apitypes.RunResume
	}
	rerunIn struct {
		ActionIn
		Body *apitypes.RunRerun
	}
	forkIn struct {
		ActionIn
		Body *apitypes.RunFork
	}
	undoIn struct {
		ActionIn
		Body *apitypes.RunUndo
	}
	updateRunIn struct {
		ActionIn
		Body apitypes.RunUpdate
	}
	deleteIn struct {
		ActionIn
		Reason string `query:"reason" maxLength:"500" doc:"Kept in the audit log."`
	}
)

// request returns the common fields of all actions.
func (in *ActionIn) request(action domain.Action, o apitypes.PreviewedOptions) (domain.ActionRequest, error) {
	rev, err := revOf(in.IfMatch)
	return domain.ActionRequest{Run: in.ID, Action: action, Reason: o.Reason, Digest: o.Digest, Rev: rev}, err
}

type actedOut struct {
	Status   int
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     any
}

func (h actionHandler) act(ctx context.Context, in *actIn, action domain.Action) (*actedOut, error) {
	r, err := in.request(action, *cmp.Or(in.Body, &apitypes.PreviewedOptions{}))
	if err != nil {
		return nil, err
	}
	return h.do(ctx, in.Preview, r)
}

// do performs an action on a run, or predicts its effect.
func (h actionHandler) do(ctx context.Context, preview bool, r domain.ActionRequest) (*actedOut, error) {
	if preview {
		return predicted(h.runs.Preview(ctx, actorOf(ctx), r))
	}
	return acted(h.runs.Act(ctx, app.ActRequest{Meta: meta(ctx), ActionRequest: r}))
}

func acted(run domain.Run, err error) (*actedOut, error) {
	if err != nil {
		return nil, err
	}
	return &actedOut{Status: http.StatusOK, ETag: runTag(run), Body: apitypes.RunOf(run)}, nil
}

func predicted(p domain.Preview, err error) (*actedOut, error) {
	if err != nil {
		return nil, err
	}
	return &actedOut{Status: http.StatusOK, Body: p}, nil
}

// created is do for an action that creates a run.
func created(out *actedOut, err error) (*actedOut, error) {
	if err != nil {
		return nil, err
	}
	if run, ok := out.Body.(apitypes.Run); ok {
		out.Status, out.Location = http.StatusCreated, Base+"/runs/"+run.ID
	}
	return out, nil
}

func (h actionHandler) resume(ctx context.Context, in *resumeIn) (*actedOut, error) {
	b := cmp.Or(in.Body, &apitypes.RunResume{})
	r, err := in.request(domain.ActionResume, b.PreviewedOptions)
	if err != nil {
		return nil, err
	}
	r.Only, r.Attempts = b.Only, b.Attempts
	if b.Timeout != "" {
		if r.Timeout, err = domain.ParseDuration(b.Timeout); err != nil {
			return nil, err
		}
	}
	req := app.ResumeRequest{Meta: meta(ctx), ActionRequest: r, Release: b.Release, StartNow: b.StartNow}
	if in.Preview {
		return predicted(h.runs.PreviewResume(ctx, req))
	}
	return acted(h.runs.Resume(ctx, req))
}

func (h actionHandler) rerun(ctx context.Context, in *rerunIn) (*actedOut, error) {
	b := cmp.Or(in.Body, &apitypes.RunRerun{})
	r, err := in.request(domain.ActionRerun, b.PreviewedOptions)
	if err != nil {
		return nil, err
	}
	r.Input, r.Version, r.Labels, r.Profile = b.Input, b.Version, b.Labels, b.Profile
	return created(h.do(ctx, in.Preview, r))
}

func (h actionHandler) fork(ctx context.Context, in *forkIn) (*actedOut, error) {
	b := cmp.Or(in.Body, &apitypes.RunFork{})
	r, err := in.request(domain.ActionFork, b.PreviewedOptions)
	if err != nil {
		return nil, err
	}
	r.Input, r.Version, r.Labels, r.Profile = b.Input, b.Version, b.Labels, b.Profile
	r.At, r.Edits, r.Instead = b.Seq, b.Edits, b.Instead
	return created(h.do(ctx, in.Preview, r))
}

func (h actionHandler) undo(ctx context.Context, in *undoIn) (*actedOut, error) {
	b := cmp.Or(in.Body, &apitypes.RunUndo{})
	r, err := in.request(domain.ActionUndo, b.PreviewedOptions)
	if err != nil {
		return nil, err
	}
	r.Skip = b.Skip
	return created(h.do(ctx, in.Preview, r))
}

func (h actionHandler) update(ctx context.Context, in *updateRunIn) (*actedOut, error) {
	r, err := in.request(domain.ActionLimits, apitypes.PreviewedOptions{ActionOptions: in.Body.ActionOptions})
	for _, l := range []struct {
		from *domain.LimitsView
		to   *domain.Limits
	}{{in.Body.Limits, &r.Limits}, {in.Body.Raise, &r.Raise}} {
		if l.from != nil && err == nil {
			*l.to, err = l.from.Limits()
		}
	}
	r.Labels = in.Body.Labels
	switch {
	case err != nil:
		return nil, err
	case in.Preview:
		return predicted(h.runs.PreviewUpdate(ctx, actorOf(ctx), r))
	}
	return acted(h.runs.Update(ctx, app.RunUpdate{Meta: meta(ctx), ActionRequest: r}))
}

func (h actionHandler) remove(ctx context.Context, in *deleteIn) (*actedOut, error) {
	r, err := in.request(domain.ActionDelete, apitypes.PreviewedOptions{ActionOptions: apitypes.ActionOptions{Reason: in.Reason}})
	if err != nil {
		return nil, err
	}
	return h.do(ctx, in.Preview, r)
}

type resolveIn struct {
	RunIn
	Node    string `path:"node" maxLength:"128" doc:"The step."`
	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the run as you saw it; 409 if the run has changed."`
	Body    apitypes.NodeResolve
}

type resolvedOut struct {
	ETag string `header:"ETag"`
	Body apitypes.Run
}

func (h actionHandler) resolve(ctx context.Context, in *resolveIn) (*resolvedOut, error) {
	b, none := &in.Body, -1
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	run, err := h.runs.Resolve(ctx, app.ResolveRequest{Meta: meta(ctx), ResolveRequest: domain.ResolveRequest{Run: in.ID, Node: in.Node,
		Visit: b.Visit, Item: *cmp.Or(b.Item, &none), Attempt: b.Attempt, Action: b.Action, Output: b.Output, Reason: b.Reason, Rev: rev}})
	if err != nil {
		return nil, err
	}
	return &resolvedOut{runTag(run), apitypes.RunOf(run)}, nil
}

type confirmIn struct {
	RunIn
	Body apitypes.RunConfirm
}

func (h actionHandler) refuse(ctx context.Context, in *confirmIn) (*struct{ Body apitypes.Run }, error) {
	b := &in.Body
	run, err := h.runs.Refuse(ctx, app.ActRequest{Meta: meta(ctx), ActionRequest: domain.ActionRequest{Run: in.ID, Action: b.Action,
		Digest: b.Digest, At: b.Seq, Reason: b.Reason}})
	return &struct{ Body apitypes.Run }{apitypes.RunOf(run)}, err
}

type requestedOut struct{ Body apitypes.RequestedActions }

func (h actionHandler) requested(ctx context.Context, _ *struct{}) (*requestedOut, error) {
	items, err := h.runs.Requested(ctx, actorOf(ctx))
	return &requestedOut{apitypes.RequestedActions{Actions: items}}, err
}

type confirmedOut struct{ Body domain.Preview }

func (h actionHandler) confirm(ctx context.Context, in *confirmIn) (*confirmedOut, error) {
	b := &in.Body
	p, err := h.runs.Confirm(ctx, app.ActRequest{Meta: meta(ctx), ActionRequest: domain.ActionRequest{Run: in.ID, Action: b.Action,
		Digest: b.Digest, At: b.Seq, Reason: b.Reason}})
	return &confirmedOut{p}, err
}
