// Package steps shows the first steps on a new server as a checklist.
package steps

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Card is the checklist.
type Card struct {
	Rows      []Row
	Remark    string // number of completed steps
	CSRF, ID  string
	Dismissed string // address of the form that hides the list
	Lead      bool   // the next step is the primary action of the page
}

// Row is a step with a link.
type Row struct {
	Text, Hint, Href string
	Done, Next       bool
}

var rows = map[app.FirstStep]Row{
	app.FirstRun: {Text: locale.Mark("Run an example plan"), Hint: locale.Mark("save and start it; it completes in less than a second"),
		Href: "/plans/new?example=hello"},
	app.FirstDecision: {Text: locale.Mark("Decide an approval request"),
		Hint: locale.Mark("start this example with the amount 12000; the request appears in the inbox"),
		Href: "/plans/new?example=order-triage"},
	app.FirstResume: {Text: locale.Mark("Break a run and resume it"),
		Hint: locale.Mark("cancel a run that waits for you, then resume it; completed steps do not run again"),
		Href: "/plans/new?example=order-triage"},
	app.FirstDemo: {Text: locale.Mark("Pull the plug"), Hint: locale.Mark("a server is killed in the middle of a payment"),
		Href: "/demo"},
	app.FirstModel: {Text: locale.Mark("Connect a model"), Hint: locale.Mark("a provider other than offline"), Href: "/agents/providers"},
}

// Of returns the checklist for the user, or nil if the user has none.
func Of(c *ui.Context) (*Card, error) {
	list, err := c.Site.App.FirstSteps.Get(c, c.Principal.Actor())
	if err != nil || len(list) == 0 || !c.May(app.BeginDemo) {
		return nil, err
	}
	card := &Card{CSRF: c.Principal.CSRF, ID: kit.NewID(), Dismissed: "/first-steps"}
	done, next := 0, false
	for _, s := range list {
		r := rows[s.Step]
		r.Text, r.Hint, r.Done = c.T(r.Text), c.T(r.Hint), s.Done
		if r.Done {
			done++
		} else if !next {
			r.Next, next = true, true
		}
		card.Rows = append(card.Rows, r)
	}
	card.Remark = c.T("%s of %s", c.Number(int64(done)), c.Number(int64(len(list))))
	return card, nil
}
