package run

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"

	"github.com/kairosd/kairosd/internal/domain"
)

// why returns the section that shows the problem of the run or what it waits for, or nil.
func (b *headPart) why() (*Why, error) {
	run := b.Detail.Run
	if b.Detail.Damage != nil {
		return b.damaged(), nil
	}
	w := &Why{Headline: part.Headline(b.Context, run)}
	switch {
	case run.Status == domain.RunFailed && run.Error != nil:
		if w.Headline == "" {
			w.Headline = b.T("%s has failed", run.Error.Node)
		}
		w.Addresses = value.Addresses(kit.Escape(run.Error.Message))
		if w.Message = kit.Escape(run.Error.Message); strings.Contains(w.Headline, w.Message) {
			w.Message = "" // the headline contains the message
		}
	case run.Status == domain.RunCancelled:
		w.Class = "quiet"
		if w.Headline == "" {
			w.Headline = b.T("Cancelled")
		}
		return w, b.predictResume(w)
	case run.Status == domain.RunQueued && run.Headline == "" && !run.StartAt.After(b.Site.Now()):
		w.Class, w.Headline = "now", b.T("Queued: it starts when a slot is free. Higher priorities start first, then older runs")
		if c := run.Concurrency; c != nil {
			w.Headline = b.N(
				c.Limit,
				"Queued: at most %s run with the key %s is active at once",
				"Queued: at most %s runs with the key %s are active at once",
				kit.Escape(c.Key),
			)
		}
		w.Links = append(w.Links, kit.Link{Text: b.T("Active runs"), Href: "/runs?q=" + url.QueryEscape("status:running")})
		return w, b.untilStart(w)
	case run.Status == domain.RunWaiting || run.Status == domain.RunQueued && run.Headline != "":
		w.Class = "need"
		switch {
		case run.WaitReason == domain.WaitInDoubt:
			w.Class = "doubt"
		case !run.WaitReason.NeedsPerson():
			w.Class = "now"
		}
		if w.Headline == "" {
			w.Headline = b.T("Waits: %s", b.Reason(run.WaitReason))
		}
		b.untilOn(w)
	case run.Status == domain.RunCompleted:
		failed := domain.ResultOf(b.Detail).FailedSteps
		if len(failed) == 0 {
			return nil, nil
		}
		w.Class, w.Headline = "quiet", b.N(len(failed), "Completed, %s step failed", "Completed, %s steps failed")
		for _, f := range failed {
			w.Items = append(w.Items, fmt.Sprintf("%s: %s", f.Node, kit.Escape(kit.Truncate(f.Message, 500))))
		}
	case part.Scheduled(b.Context, run):
		w.Class, w.Headline = "now", b.T("It starts at %s, %s", b.Time(run.StartAt).Text, b.Ago(b.Site.Now().Sub(run.StartAt)))
		return w, b.untilStart(w)
	default:
		return nil, nil
	}
	return w, nil
}

// predictResume adds the effect of a resume, or the reason why it is impossible if the plan refers
// to something that is no longer configured.
func (b *headPart) predictResume(w *Why) error {
	if !b.Resumable() {
		return nil
	}
	pre, err := b.Preview()
	if e, ok := errors.AsType[*domain.Error](err); ok && (e.Code == domain.CodeInvalid || e.Code == domain.CodeCorrupt) {
		w.Then = b.Sentence(e)
		return nil
	}
	if err != nil {
		return err
	}
	expected, err := b.Expected(pre)
	if err != nil {
		return err
	}
	w.Then = strings.TrimSpace(part.Consequence(b.Context, pre) + " " + expected)
	return nil
}

// troubles reads the causes that would make a resume fail again.
func (b *headPart) troubles() error {
	uses, err := b.Reader.Uses(b.Context, b.Detail.Run.ID)
	if err != nil {
		return err
	}
	b.trouble, err = part.Troubles(b.Context, b.App, uses, b.Detail.Journal)
	return err
}
