package schedules

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/plan"
)

// ListPage is the list of schedules.
type ListPage struct {
	kit.Shell
	Tabs      []kit.Link
	States    []kit.Link
	Find      string
	State     string
	Rows      []Row
	New       string // empty if the user may not create schedules
	More      string
	EmptyText string
}

// Row is a schedule in the list.
type Row struct {
	Name, Plan kit.Link
	Status     kit.Status
	Cron, Zone string
	Next, Last kit.Time
	LastRun    kit.Link
	LastStatus kit.Status
	Missed     kit.Link
}

// SchedulePage is the page of one schedule.
type SchedulePage struct {
	kit.Shell
	Crumbs  kit.Crumbs
	Address string
	Heading string
	Status  kit.Status
	Actions []kit.Link
	Facts   []kit.Fact
	Notes   []string // reasons why no slot starts a run
	Rules   []string
	Times   []kit.Time
	Problem string // reason why there are no next times
	Missed  *Missed
	Past    []Missed // already decided
	Slots   []SlotRow
	Older   string
	Runs    string
	Input   string
}

// Missed is a range of missed slots that waits for a decision, or is decided.
type Missed struct {
	Text   string
	Decide kit.Link
	Sub    string
}

// SlotRow is a slot that was due.
type SlotRow struct {
	At     kit.Time
	Status kit.Status
	Run    kit.Link
	Reason string
}

// EditPage is the form that creates or changes a schedule.
type EditPage struct {
	kit.Shell
	Crumbs                                 kit.Crumbs
	Heading, Post, Back, Idem, Rev, Error  string
	New                                    bool
	Key, Plan, Version, Cron, Zone, Jitter string
	Profile                                plan.ProfileField
	Input, Labels                          string
	Overlap, CatchUp                       []kit.Option
	Times                                  []kit.Time // the next ones, if the expression is valid
	Plans                                  []string
	Button                                 string
}

// MissedPage is the form that decides about missed slots.
type MissedPage struct {
	kit.Shell
	Crumbs                                 kit.Crumbs
	Heading, Text, Post, Back, Idem, Error string
	ID, Slots                              string
	Choices                                []Choice
}

// Choice is a possible decision and its consequence.
type Choice struct{ Value, Text, Consequence string }

// BackfillPage is the form and the preview of a backfill.
type BackfillPage struct {
	kit.Shell
	Crumbs                          kit.Crumbs
	Heading, Post, Here, Back, Idem string
	From, To, Zone, Error           string
	Previewed                       bool
	Sentence, Slots, Rate           string
	Canary                          bool
	Button                          string
}
