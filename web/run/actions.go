package run

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"

	"github.com/kairosd/kairosd/internal/domain"
)

// actions returns links to the actions that the state of the run allows, or nil if the user's role
// allows none.
func (b *headPart) actions() []kit.Link {
	if !b.Principal.Role.Includes(domain.RoleOperator) {
		return nil
	}
	link := func(text, action string, primary bool) kit.Link {
		l := kit.Link{
			Text:    text,
			Href:    "/runs/" + b.Detail.Run.ID + "/" + action,
			Primary: primary,
			Danger:  action == "cancel" || action == "delete" || action == "undo",
			Dialog:  action != "fork",
		}
		if action == "resume" || action == "fork" {
			l.Key = action
		}
		if action == "fork" {
			l.Icon = "i-fork"
		}
		return l
	}
	run := b.Detail.Run
	switch {
	case b.Detail.Damage != nil:
		return b.damagedActions(link)
	case run.Undoes != "" && run.Status.Final():
		return b.undoActions(link)
	case len(b.Detail.Undos) > 0:
		return append([]kit.Link{link(b.T("Rerun…"), "rerun", true), link(b.T("Fork…"), "fork", false)}, b.undo(link)...)
	case !run.DeletedAt.IsZero():
		return []kit.Link{link(b.T("Rerun…"), "rerun", true), link(b.T("Fork…"), "fork", false)}
	case b.Hopeless():
		return b.instead(link)
	case run.Status == domain.RunFailed || run.Status == domain.RunCancelled:
		text := b.T("Resume")
		if pre := b.Resume(); pre != nil && len(pre.Again) > 0 {
			text = b.T("Resume from %s", pre.Again[0].Node)
		}
		return append([]kit.Link{link(text, "resume", true), link(b.T("Fork…"), "fork", false), link(b.T("Rerun…"), "rerun", false)},
			b.undo(link)...)
	case run.Status == domain.RunCompleted:
		return append([]kit.Link{link(b.T("Rerun…"), "rerun", true), link(b.T("Fork…"), "fork", false)}, b.undo(link)...)
	case part.Scheduled(b.Context, run):
		return []kit.Link{link(b.T("Start now"), "start-now", true), link(b.T("Cancel…"), "cancel", false)}
	}
	var out []kit.Link
	now := func(text, action string, primary bool) kit.Link {
		return kit.Link{Text: text, Form: "once-" + action, Action: "act", Primary: primary}
	}
	add := func(text, action string) { out = append(out, link(text, action, len(out) == 0)) } // the first action is primary
	pausable := false
	switch {
	case run.WaitReason == domain.WaitPaused || run.Paused:
		out = append(out, now(b.T("Continue"), "unpause", true))
	case run.WaitReason == domain.WaitQuarantined || run.WaitReason == domain.WaitHeld:
		add(b.T("Release…"), "release")
	case run.WaitReason == domain.WaitBudget:
		if l, shared := b.raiseBudget(); shared {
			out = append(out, l...)
		} else if b.lacksPrice() {
			add(b.T("Resume…"), "resume")
		} else {
			add(b.T("Raise limits…"), "limits")
		}
	case run.WaitReason == domain.WaitRetry:
		add(b.T("Retry now"), "retry-now")
		pausable = true
	default:
		pausable = true
	}
	if at := b.decideAt(); at != "" {
		out = append(out, kit.Link{Text: b.T("Decide"), Href: at, Primary: len(out) == 0})
	}
	if pausable {
		out = append(out, now(b.T("Pause"), "pause", len(out) == 0 && run.Status == domain.RunRunning))
	}
	if run.WaitReason != domain.WaitRetry {
		out = append(out, link(b.T("Fork…"), "fork", false))
	}
	return append(out, link(b.T("Cancel…"), "cancel", false))
}

// raiseBudget returns the link that raises the shared budget that the run waits for, if the user may. shared is false if the
// run waits at a limit of its own.
func (b *headPart) raiseBudget() (out []kit.Link, shared bool) {
	for _, wait := range b.Detail.Waits {
		if wait.Budget == "" {
			continue
		}
		if b.May(app.RaiseBudget) {
			out = append(out, kit.Link{Text: b.T("Raise budget %s…", kit.Escape(wait.Budget)), Primary: true, Dialog: true,
				Href: "/agents/budgets/" + url.PathEscape(wait.Budget) + "/raise"})
		}
		return out, true
	}
	return nil, false
}

// lacksPrice reports whether the run waits for the price of a model. It can then be resumed after a
// change of the configuration.
func (b *headPart) lacksPrice() bool {
	return slices.ContainsFunc(b.Detail.Waits, func(w domain.Wait) bool { return w.Code == domain.CodePrice })
}

// instead returns the actions for a run that cannot be resumed: the decision about a call in doubt,
// a fork, or a rerun. A fork is primary only if a step has started.
func (b *headPart) instead(link func(text, action string, primary bool) kit.Link) (out []kit.Link) {
	if at := b.decideAt(); at != "" {
		out = append(out, kit.Link{Text: b.T("Decide"), Href: at, Primary: true})
	}
	began := len(b.Steps) > 0
	fork, rerun := link(b.T("Fork…"), "fork", began && len(out) == 0), link(b.T("Rerun…"), "rerun", !began && len(out) == 0)
	if began {
		return append(out, fork, rerun)
	}
	return append(out, rerun, fork)
}

// actionAt returns the address to which a one-click action is posted. It keeps the query, so that
// the user returns to the same view.
func (b *headPart) actionAt(action string) string {
	at, query, found := strings.Cut(b.Href(nil), "?")
	if at += "/" + action; found {
		at += "?" + query
	}
	return at
}

// decideAt returns the link to the form that decides the pending request of the run: a call in
// doubt, or an approval request. It returns an empty string if there is none.
func (b *headPart) decideAt() string {
	for _, st := range b.Steps {
		if st.Status == domain.NodeInDoubt {
			return b.Href(
				url.Values{"view": nil, "step": {strconv.FormatInt(st.Seq, 10)}, "node": nil, "try": nil, "tab": nil},
			) + "#inspector"
		}
	}
	if len(b.asked) > 0 {
		return "#decide"
	}
	return ""
}
