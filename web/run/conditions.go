package run

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/run/doubts"
	"github.com/kairosd/kairosd/web/run/events"
)

// met and unmet are the statuses of conditions.
var (
	met   = kit.Word("ok", "i-ok", locale.Mark("met"), true)
	unmet = kit.Word("idle", "i-queued", locale.Mark("not met"), false)
)

func condition(is bool, text string) Condition {
	if is {
		return Condition{Mark: met, Text: text}
	}
	return Condition{Mark: unmet, Text: text}
}

// untilStart adds the conditions for the start of the run.
func (b *headPart) untilStart(w *Why) error {
	run := b.Detail.Run
	now := b.Site.Now()
	w.When = b.T("The run starts when all of this is true:")
	if !run.StartAt.IsZero() {
		w.Conditions = append(w.Conditions, condition(!run.StartAt.After(now), b.T("It is %s or later", b.Time(run.StartAt).Title)))
	}
	if c := run.Concurrency; c != nil {
		active, err := b.Reader.ActiveByConcurrency(b.Context, c.Key)
		if err != nil {
			return err
		}
		var others []string
		for _, o := range active {
			if o.ID != run.ID && o.Status != domain.RunQueued {
				others = append(others, o.ID)
			}
		}
		free := condition(len(others) < c.Limit, b.T("A slot for the key %s is free: %s of %s runs are active", kit.Escape(c.Key),
			b.Number(int64(len(others))), b.Number(int64(c.Limit))))
		if len(others) >= c.Limit && len(others) > 0 {
			free.Link = kit.Link{Text: domain.ShortID(others[0]), Href: "/runs/" + others[0]}
		}
		w.Conditions = append(w.Conditions, free)
	}
	if b.System == nil {
		return nil
	}
	v, err := b.System.HealthMetrics(b.Context)
	if err != nil {
		return err
	}
	if v.Slots == 0 { // other programs execute the runs
		if len(w.Conditions) == 0 {
			w.Headline, w.When = b.T("Queued: it starts when a worker takes it"), ""
		}
		return nil
	}
	text := b.T("A slot is free: %s of %s are taken", b.Number(int64(v.Working)), b.Number(int64(v.Slots)))
	if v.Queued > 0 && !v.Oldest.IsZero() {
		text += ", " + b.N(v.Queued, "%s run is queued, since %s", "%s runs are queued, the first since %s", b.Time(v.Oldest).Text)
	}
	w.Conditions = append(w.Conditions, condition(v.Working < v.Slots, text))
	return nil
}

// wanted describes the condition for each wait reason. %s is the step.
var wanted = map[domain.WaitReason]string{
	domain.WaitQuarantined: locale.Mark("A person releases the run"),
	domain.WaitHeld:        locale.Mark("A person releases the run"),
	domain.WaitPaused:      locale.Mark("A person resumes the run"),
	domain.WaitInDoubt:     locale.Mark("A person states whether the call of %s happened"),
	domain.WaitApproval:    locale.Mark("A person answers the request of %s"),
	domain.WaitReplan:      locale.Mark("A person accepts a new plan for the steps after %s"),
	domain.WaitChild:       locale.Mark("The run of %s ends"),
	domain.WaitRetry:       locale.Mark("The next attempt of %s is due"),
	domain.WaitTimer:       locale.Mark("The time of %s comes"),
	domain.WaitSignal:      locale.Mark("The signal of %s arrives"),
}

// untilOn adds the conditions for a waiting run to continue.
func (b *headPart) untilOn(w *Why) {
	w.When = b.T("The run continues when:")
	listed := map[string]int{} // number of calls in doubt by step, which share one condition
	for _, wait := range b.Detail.Waits {
		if wait.Reason == domain.WaitInDoubt {
			if listed[wait.Node]++; listed[wait.Node] > 1 {
				continue
			}
		}
		if len(b.Detail.Waits) == 1 && wait.Due.IsZero() && wait.Event == "" && kit.Escape(wait.Message) == w.Headline &&
			wait.Reason != domain.WaitBudget {
			break // the headline shows the same
		}
		if wait.Budget != "" {
			c := condition(false, b.T("The budget %s is raised, or its next window begins", kit.Escape(wait.Budget)))
			c.Seen = append(c.Seen, b.T("until %s", b.Time(wait.Due).Text))
			if b.May(app.RaiseBudget) {
				c.Link = kit.Link{Text: b.T("Raise it…"), Href: "/agents/budgets/" + url.PathEscape(wait.Budget) + "/raise", Dialog: true}
			}
			w.Conditions = append(w.Conditions, c)
			continue
		}
		if wait.Code == domain.CodePrice {
			w.Conditions = append(w.Conditions, condition(false, b.T("The price is configured, and a person resumes the run")))
			continue
		}
		if wait.Reason == domain.WaitBudget {
			b.untilWithin(w)
			continue
		}
		form := wanted[wait.Reason]
		var about []any
		if strings.Contains(form, "%s") {
			about = append(about, kit.StepName(wait.Node, wait.Visit))
		}
		text := b.T(form, about...)
		if n := doubts.Count(b.Detail, wait.Node); wait.Reason == domain.WaitInDoubt && n > 1 {
			text = b.N(n, "A person states whether %[1]s call of %[2]s happened",
				"A person states which of %[1]s calls of %[2]s happened", wait.Node)
		}
		c := condition(false, text)
		if wait.Event != "" {
			c.Text = b.T("The signal %s arrives", kit.Escape(strings.TrimSpace(wait.Event+" "+wait.Key)))
		}
		if wait.Message != "" && kit.Escape(wait.Message) != w.Headline {
			c.Seen = append(c.Seen, kit.Escape(kit.Truncate(wait.Message, 500)))
		}
		if !wait.Since.IsZero() {
			c.Seen = append(c.Seen, b.T("since %s", b.Time(wait.Since).Text))
		}
		if !wait.Due.IsZero() {
			c.Seen = append(c.Seen, b.T("until %s", b.Time(wait.Due).Text))
		}
		if wait.Reason == domain.WaitPaused {
			c.Seen = append(c.Seen, b.pausedBy())
		}
		if wait.Child != "" {
			c.Link = kit.Link{Text: domain.ShortID(wait.Child), Href: "/runs/" + wait.Child}
		}
		if wait.Event != "" && b.May(app.SendSignal) {
			c.Link = kit.Link{Text: b.T("Send it…"), Href: incoming.Send(wait.Event, wait.Key), Dialog: true}
		}
		w.Conditions = append(w.Conditions, c)
	}
}

// pausedBy describes who paused the run, when, and why.
func (b *headPart) pausedBy() string {
	for i := len(b.Detail.Journal) - 1; i >= 0; i-- {
		e := &b.Detail.Journal[i]
		if e.Kind != domain.EntryAction || events.PayloadOf(e).Action != "pause" {
			continue
		}
		text := b.T("paused by %s at %s", kit.Escape(cmp.Or(e.Actor, domain.System.Name)), b.Time(e.At).Text)
		if e.Reason != "" {
			text += ": " + kit.Escape(kit.Truncate(e.Reason, 500))
		}
		return text
	}
	return ""
}

// untilWithin adds the limits of the run, each with the used amount.
func (b *headPart) untilWithin(w *Why) {
	run := b.Detail.Run
	add := func(name string, limited, within bool, used, limit string) {
		if limited {
			w.Conditions = append(w.Conditions, condition(within, b.T("%s: %s of %s used", name, used, limit)))
		}
	}
	l, tokens := run.Limits, run.Usage.InputTokens+run.Usage.OutputTokens
	add(b.T("Steps"), l.MaxSteps > 0, run.Steps < l.MaxSteps, b.Number(run.Steps), b.Number(l.MaxSteps))
	add(b.T("Running time"), l.MaxDuration > 0, run.RunningTime < l.MaxDuration, kit.Duration(run.RunningTime), kit.Duration(l.MaxDuration))
	add(b.T("Tokens"), l.MaxTokens > 0, tokens < l.MaxTokens, b.Number(tokens), b.Number(l.MaxTokens))
	add(b.T("Cost"), l.MaxCost > 0, run.Usage.Cost < l.MaxCost, value.Cost(b.Context, run.Usage.Cost), value.Cost(b.Context, l.MaxCost))
	if len(w.Conditions) == 0 {
		w.Conditions = append(w.Conditions, condition(false, b.T("A person raises the limit")))
	}
}
