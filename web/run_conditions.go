package web

import (
	"cmp"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// This file is what has to be so before a run goes on: each condition met or not,
// with what there is to see of it.

// met and unmet are the marks of conditions, as word and shape.
var (
	met   = word("ok", "i-ok", locale.Mark("met"), true)
	unmet = word("idle", "i-queued", locale.Mark("not met"), false)
)

func condition(is bool, text string) view.Condition {
	if is {
		return view.Condition{Mark: met, Text: text}
	}
	return view.Condition{Mark: unmet, Text: text}
}

// untilStart adds what has to be so before the run starts.
func (b *runPage) untilStart(w *view.Why) error {
	run := b.d.Run
	now := b.s.now()
	if !run.StartAt.IsZero() {
		w.Conditions = append(w.Conditions, condition(!run.StartAt.After(now), b.t("Its time: %s", b.time(run.StartAt).Title)))
	}
	if c := run.Concurrency; c != nil {
		active, err := b.s.Reader.ActiveByConcurrency(b.ctx, c.Key)
		if err != nil {
			return err
		}
		n := 0
		for _, o := range active {
			if o.ID != run.ID && o.Status != domain.RunQueued {
				n++
			}
		}
		w.Conditions = append(w.Conditions, condition(n < c.Limit, b.t("Room among the runs with the key %s: %s of %s are active", visible(c.Key), b.number(int64(n)), b.number(int64(c.Limit)))))
	}
	if b.s.System == nil {
		return nil
	}
	v, err := b.s.System.Vitals(b.ctx)
	if err != nil {
		return err
	}
	text := b.t("A free slot: %s of %s are taken", b.number(int64(v.Working)), b.number(int64(v.Slots)))
	if v.Queued > 0 && !v.Oldest.IsZero() {
		text += ", " + b.n(v.Queued, "%s run is queued, since %s", "%s runs are queued, the first since %s", b.time(v.Oldest).Text)
	}
	w.Conditions = append(w.Conditions, condition(v.Working < v.Slots, text))
	return nil
}

// wanted says for what a run waits, by the reason; %s is the step.
var wanted = map[domain.WaitReason]string{
	domain.WaitQuarantined: locale.Mark("Somebody releases the run"), domain.WaitHeld: locale.Mark("Somebody releases the run"),
	domain.WaitPaused: locale.Mark("Somebody continues the run"), domain.WaitInDoubt: locale.Mark("Somebody says whether %s happened"),
	domain.WaitApproval: locale.Mark("An answer to %s"), domain.WaitReplan: locale.Mark("A new plan for what is left after %s"),
	domain.WaitChild: locale.Mark("The run of %s ends"), domain.WaitRetry: locale.Mark("The next attempt of %s"), domain.WaitTimer: locale.Mark("The time of %s"),
}

// untilOn adds what has to be so before a run that waits goes on.
func (b *runPage) untilOn(w *view.Why) {
	for _, wait := range b.d.Waits {
		if len(b.d.Waits) == 1 && wait.Due.IsZero() && visible(wait.Message) == w.Headline && wait.Reason != domain.WaitBudget {
			break // the headline says it all
		}
		if wait.Reason == domain.WaitBudget {
			b.untilWithin(w)
			continue
		}
		form := wanted[wait.Reason]
		var about []any
		if strings.Contains(form, "%s") {
			about = append(about, stepName(wait.Node, wait.Visit))
		}
		text := b.t(form, about...)
		if wait.Message != "" {
			text += ": " + visible(cut(wait.Message, 500))
		}
		c := condition(false, text)
		if !wait.Since.IsZero() {
			c.Seen = append(c.Seen, b.t("since %s", b.time(wait.Since).Text))
		}
		if !wait.Due.IsZero() {
			c.Seen = append(c.Seen, b.t("until %s", b.time(wait.Due).Text))
		}
		if wait.Reason == domain.WaitPaused {
			c.Seen = append(c.Seen, b.pausedBy())
		}
		if wait.Child != "" {
			c.Link = view.Link{Text: domain.ShortID(wait.Child), Href: "/runs/" + wait.Child}
		}
		w.Conditions = append(w.Conditions, c)
	}
}

// pausedBy says who paused the run, when, and why.
func (b *runPage) pausedBy() string {
	for i := len(b.d.Journal) - 1; i >= 0; i-- {
		e := &b.d.Journal[i]
		if e.Kind != domain.EntryVerb || payloadOf(e).Verb != "pause" {
			continue
		}
		text := b.t("paused by %s at %s", visible(cmp.Or(e.Actor, domain.System.Name)), b.time(e.At).Text)
		if e.Reason != "" {
			text += ": " + visible(cut(e.Reason, 500))
		}
		return text
	}
	return ""
}

// untilWithin adds the run's limits, each with what is used of it.
func (b *runPage) untilWithin(w *view.Why) {
	run := b.d.Run
	add := func(name string, limited, within bool, used, limit string) {
		if limited {
			w.Conditions = append(w.Conditions, condition(within, b.t("%s: %s of %s used", name, used, limit)))
		}
	}
	l, tokens := run.Limits, run.Usage.InputTokens+run.Usage.OutputTokens
	add(b.t("Steps"), l.MaxSteps > 0, run.Steps < l.MaxSteps, b.number(run.Steps), b.number(l.MaxSteps))
	add(b.t("Running time"), l.MaxDuration > 0, run.RunningTime < l.MaxDuration, took(run.RunningTime), took(l.MaxDuration))
	add(b.t("Tokens"), l.MaxTokens > 0, tokens < l.MaxTokens, b.number(tokens), b.number(l.MaxTokens))
	add(b.t("Cost"), l.MaxCost > 0, run.Usage.Cost < l.MaxCost, b.cost(run.Usage.Cost), b.cost(l.MaxCost))
	if len(w.Conditions) == 0 {
		w.Conditions = append(w.Conditions, condition(false, b.t("A higher limit")))
	}
}
