package handoffs

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/detail"
	"github.com/kairosd/kairosd/web/part/query"
)

// ListPage is the model of the list of handoffs.
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

// Line is a row of the list.
type Line struct {
	At                        kit.Time
	From, To, Plan, Run, Step kit.Link
	Reason, Context, Size     string
	Href                      string // address of its page
	Status                    kit.Status
}

// Loop is a run in which two agents passed work back and forth.
type Loop struct {
	Run                 kit.Link
	Plan, Agents, Times string
	Last                kit.Time
}

// HandoffPage is the model of the page of a handoff.
type HandoffPage struct {
	kit.Shell
	Run, Plan kit.Link
	Detail    detail.Detail
}
