package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// Resume resumes a run with the action that its state requires. release permits it to release a
// quarantined or held run, and startNow to start a scheduled run.
func (c *Client) Resume(ctx context.Context, r domain.ActionRequest, release, startNow bool) (domain.Run, error) {
	return c.act(ctx, resumeCall(r, release, startNow))
}

// PreviewResume predicts the effect of Resume.
func (c *Client) PreviewResume(ctx context.Context, r domain.ActionRequest, release, startNow bool) (domain.Preview, error) {
	return c.predict(ctx, resumeCall(r, release, startNow))
}

// Act performs an action and returns the run: the same run, or the new run of a rerun, fork, or undo.
func (c *Client) Act(ctx context.Context, r domain.ActionRequest) (domain.Run, error) {
	return c.act(ctx, actionCall(r))
}

// Preview predicts the effect of an action.
func (c *Client) Preview(ctx context.Context, r domain.ActionRequest) (domain.Preview, error) {
	return c.predict(ctx, actionCall(r))
}

func (c *Client) act(ctx context.Context, k call) (domain.Run, error) {
	var out apitypes.Run
	k.into = &out
	_, err := c.do(ctx, k)
	return out.Domain(), err
}

func (c *Client) predict(ctx context.Context, k call) (domain.Preview, error) {
	var out domain.Preview
	if k.query == nil {
		k.query = url.Values{}
	}
	k.query.Set("preview", "true")
	k.match, k.into = "", &out
	_, err := c.do(ctx, k)
	return out, err
}

func optionsOf(r domain.ActionRequest) apitypes.PreviewedOptions {
	return apitypes.PreviewedOptions{ActionOptions: apitypes.ActionOptions{Reason: r.Reason}, Digest: r.Digest}
}

// runCall returns the request of an action on a run.
func runCall(r domain.ActionRequest, action string, body any) call {
	k := call{method: http.MethodPost, path: runPath(r.Run) + "/" + action, body: body}
	if r.Rev != 0 {
		k.match = strconv.FormatInt(r.Rev, 10)
	}
	return k
}

func resumeCall(r domain.ActionRequest, release, startNow bool) call {
	body := apitypes.RunResume{PreviewedOptions: optionsOf(r), Release: release, StartNow: startNow, Only: r.Only, Attempts: r.Attempts}
	if r.Timeout != 0 {
		body.Timeout = r.Timeout.String()
	}
	return runCall(r, "resume", body)
}

func actionCall(r domain.ActionRequest) call {
	rerun := apitypes.RunRerun{PreviewedOptions: optionsOf(r), Input: r.Input, Version: r.Version, Labels: r.Labels, Profile: r.Profile}
	switch r.Action {
	case domain.ActionResume, domain.ActionRetryNow:
		return resumeCall(r, false, false)
	case domain.ActionRelease:
		return resumeCall(r, true, false)
	case domain.ActionStartNow:
		return resumeCall(r, false, true)
	case domain.ActionUnpause:
		return runCall(r, "unpause", optionsOf(r))
	case domain.ActionRerun:
		return runCall(r, "rerun", rerun)
	case domain.ActionFork:
		return runCall(r, "fork", apitypes.RunFork{RunRerun: rerun, Seq: r.At, Edits: r.Edits, Instead: r.Instead})
	case domain.ActionUndo:
		return runCall(r, "undo", apitypes.RunUndo{PreviewedOptions: optionsOf(r), Skip: r.Skip})
	case domain.ActionLimits:
		k := runCall(
			r,
			"",
			apitypes.RunUpdate{ActionOptions: optionsOf(r).ActionOptions, Limits: limitsOf(r.Limits), Raise: limitsOf(r.Raise),
				Labels: r.Labels},
		)
		k.method, k.path = http.MethodPatch, runPath(r.Run)
		return k
	case domain.ActionDelete:
		k := runCall(r, "", nil)
		k.method, k.path, k.query = http.MethodDelete, runPath(r.Run), url.Values{}
		if r.Reason != "" {
			k.query.Set("reason", r.Reason)
		}
		return k
	}
	return runCall(r, url.PathEscape(string(r.Action)), optionsOf(r))
}
