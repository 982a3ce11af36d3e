package web

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// actions are the verbs that the run's state allows; what the role may never do
// is not shown. asked says that approvals of the run are open.
func (b *runPage) actions(asked bool) []view.Link {
	if !b.who.Role.Includes(domain.RoleOperator) {
		return nil
	}
	link := func(text, action string, primary bool) view.Link {
		l := view.Link{Text: text, Href: "/runs/" + b.d.Run.ID + "/" + action, Primary: primary, Danger: action == "cancel" || action == "delete", Dialog: action != "fork"}
		if action == "resume" || action == "fork" {
			l.Key = action
		}
		return l
	}
	run := b.d.Run
	switch {
	case b.d.Damage != nil:
		return b.damagedActions(link)
	case !run.DeletedAt.IsZero():
		return []view.Link{link(b.t("Rerun…"), "rerun", true), link(b.t("Fork…"), "fork", false)}
	case run.Status == domain.RunFailed || run.Status == domain.RunCancelled:
		text := b.t("Resume")
		if b.resume != nil && len(b.resume.Again) > 0 {
			text = b.t("Resume from %s", b.resume.Again[0].Node)
		}
		return []view.Link{link(text, "resume", true), link(b.t("Fork…"), "fork", false), link(b.t("Rerun…"), "rerun", false)}
	case run.Status == domain.RunCompleted:
		return []view.Link{link(b.t("Rerun…"), "rerun", true), link(b.t("Fork…"), "fork", false)}
	case b.scheduled(run):
		return []view.Link{link(b.t("Start now"), "start-now", true), link(b.t("Cancel…"), "cancel", false)}
	}
	var out []view.Link
	now := func(text, action string, primary bool) view.Link {
		return view.Link{Text: text, Form: "once-" + action, Do: "act", Primary: primary}
	}
	add := func(text, action string) { out = append(out, link(text, action, len(out) == 0)) } // the first is what the state asks for
	pausable := false
	switch {
	case run.WaitReason == domain.WaitPaused || run.Paused:
		out = append(out, now(b.t("Continue"), "continue", true))
	case run.WaitReason == domain.WaitQuarantined || run.WaitReason == domain.WaitHeld:
		add(b.t("Release…"), "release")
	case run.WaitReason == domain.WaitBudget:
		add(b.t("Raise limits…"), "limits")
	case run.WaitReason == domain.WaitRetry:
		add(b.t("Retry now"), "retry-now")
		pausable = true
	default:
		pausable = true
	}
	if at := b.decideAt(asked); at != "" {
		out = append(out, view.Link{Text: b.t("Decide"), Href: at, Primary: len(out) == 0})
	}
	if pausable {
		out = append(out, now(b.t("Pause"), "pause", len(out) == 0 && run.Status == domain.RunRunning))
	}
	if run.WaitReason != domain.WaitRetry {
		out = append(out, link(b.t("Fork…"), "fork", false))
	}
	return append(out, link(b.t("Cancel…"), "cancel", false))
}

// actAt is where an act at one click is sent to: it comes back to what is looked at.
func (b *runPage) actAt(action string) string {
	at, query, found := strings.Cut(b.href(nil), "?")
	if at += "/" + action; found {
		at += "?" + query
	}
	return at
}

// decideAt is where on this page a person answers what the run waits for: the form
// of an approval, or that of an attempt in doubt; empty: nobody is asked.
func (b *runPage) decideAt(asked bool) string {
	for _, st := range b.steps {
		if st.status == domain.NodeInDoubt {
			return b.href(url.Values{"view": nil, "step": {strconv.FormatInt(st.seq, 10)}, "node": nil, "try": nil, "tab": nil}) + "#inspector"
		}
	}
	if asked {
		return "#decide"
	}
	return ""
}
