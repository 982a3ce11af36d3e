package web

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// why is the band that says what is wrong, or for what the run waits, and what
// resuming will do.
func (b *runPage) why() (*view.Why, error) {
	run := b.d.Run
	if b.d.Damage != nil {
		return b.damaged(), nil
	}
	w := &view.Why{Headline: b.headline(run)}
	switch {
	case run.Status == domain.RunFailed && run.Error != nil:
		if w.Headline == "" {
			w.Headline = b.t("%s has failed", run.Error.Node)
		}
		w.Addresses = addressesIn(visible(run.Error.Message))
		if w.Message = visible(run.Error.Message); strings.Contains(w.Headline, w.Message) {
			w.Message = "" // the headline says it all
		}
		if !b.who.Role.Includes(domain.RoleOperator) {
			return w, nil
		}
		if err := b.foresee(run, w); err != nil {
			return nil, err
		}
	case run.Status == domain.RunCancelled:
		w.Class = "quiet"
		if w.Headline == "" {
			w.Headline = b.t("Cancelled")
		}
		if b.who.Role.Includes(domain.RoleOperator) && run.PurgedAt.IsZero() {
			if err := b.foresee(run, w); err != nil {
				return nil, err
			}
		}
	case run.Status == domain.RunQueued && run.Headline == "" && !run.StartAt.After(b.s.now()):
		w.Class, w.Headline = "now", b.t("Queued: it starts when a slot is free; higher priorities go first, then the older ones")
		if c := run.Concurrency; c != nil {
			w.Headline = b.n(c.Limit, "Queued: at most %s run with the key %s is active at once", "Queued: at most %s runs with the key %s are active at once", visible(c.Key))
		}
		w.Links = append(w.Links, view.Link{Text: b.t("What runs now"), Href: "/runs?q=" + url.QueryEscape("status:running")})
		return w, b.untilStart(w)
	case run.Status == domain.RunWaiting || run.Status == domain.RunQueued && run.Headline != "":
		w.Class = "need"
		if !run.WaitReason.NeedsPerson() {
			w.Class = "now"
		}
		if w.Headline == "" {
			w.Headline = b.t("Waits: %s", b.reason(run.WaitReason))
		}
		b.untilOn(w)
	case run.Status == domain.RunCompleted:
		failed := domain.ResultOf(b.d).FailedSteps
		if len(failed) == 0 {
			return nil, nil
		}
		w.Class, w.Headline = "quiet", b.n(len(failed), "Completed, %s step failed", "Completed, %s steps failed")
		for _, f := range failed {
			w.Items = append(w.Items, fmt.Sprintf("%s: %s", f.Node, visible(cut(f.Message, 500))))
		}
	case b.scheduled(run):
		w.Class, w.Headline = "now", b.t("It starts at %s, %s", b.time(run.StartAt).Text, b.ago(b.s.now().Sub(run.StartAt)))
		return w, b.untilStart(w)
	default:
		return nil, nil
	}
	return w, nil
}

// foresee says what resuming would do; or why it can do nothing, when the plan
// names what is no longer configured.
func (b *runPage) foresee(run domain.Run, w *view.Why) error {
	foretell := b.foretell
	if b.foretell = nil; foretell == nil {
		foretell = func() (domain.Preview, error) {
			return b.s.Engine.Preview(b.ctx, b.who.actor(), domain.VerbRequest{Run: run.ID, Action: domain.ActionResume})
		}
	}
	pre, err := foretell()
	if e, ok := errors.AsType[*domain.Error](err); ok && (e.Code == domain.CodeInvalid || e.Code == domain.CodeCorrupt) {
		w.Then = b.sentence(e)
		return nil
	}
	if err != nil {
		return err
	}
	expected, err := b.expected(run.PlanKey, pre)
	if err != nil {
		return err
	}
	b.resume, w.Then = &pre, strings.TrimSpace(b.consequence(pre)+" "+expected)
	return nil
}
