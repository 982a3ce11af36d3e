package handoffs

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/detail"
	"github.com/kairosd/kairosd/web/part/query"
)

// ListPage is who gave what to whom, in all runs.
type ListPage struct {
	kit.Shell
	Bar               query.Bar
	Error, Suggestion string
	OnlyLoops         bool
	Among             string
	Rows              []Line
	Loops             []Loop
	Newer, Older      string
}

// Line is a handoff of some run.
type Line struct {
	At                        kit.Time
	From, To, Plan, Run, Step kit.Link
	Reason, Context, Size     string
	Href                      string // its own page
	Status                    kit.Status
}

// Loop is a run in which work went back and forth.
type Loop struct {
	Run                 kit.Link
	Plan, Agents, Times string
	Last                kit.Time
}

// HandoffPage is one handoff as a page of its own.
type HandoffPage struct {
	kit.Shell
	Run, Plan kit.Link
	Detail    detail.Detail
}
