package schedules

import "github.com/kairosd/kairosd/web/kit"

// ListPage lists schedules.
type ListPage struct {
	kit.Shell
	States    []kit.Link
	Find      string
	State     string
	Rows      []Row
	New       string // empty: the reader may not create schedules
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

// SchedulePage is one schedule.
type SchedulePage struct {
	kit.Shell
	Way     kit.Crumbs
	Heading string
	Status  kit.Status
	Actions []kit.Link
	Facts   []kit.Fact
	Notes   []string // why it starts no runs
	Rules   []string
	Times   []kit.Time
	Problem string // why there are no next times
	Missed  *Missed
	Past    []Missed // decided
	Slots   []SlotRow
	Older   string
	Runs    string
	Input   string
}

// Missed are missed slots: that wait for a decision, or were decided.
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

// EditPage creates or changes a schedule.
type EditPage struct {
	kit.Shell
	Way                                    kit.Crumbs
	Heading, Post, Back, Idem, Rev, Error  string
	New                                    bool
	Key, Plan, Version, Cron, Zone, Jitter string
	Input, Labels                          string
	Overlap, CatchUp                       []kit.Option
	Times                                  []kit.Time // the next ones, if the expression is valid
	Plans                                  []string
	Button                                 string
}

// MissedPage asks for a decision about missed slots.
type MissedPage struct {
	kit.Shell
	Way                                    kit.Crumbs
	Heading, Text, Post, Back, Idem, Error string
	ID, Slots                              string
	Choices                                []Choice
}

// Choice is an answer with its consequence.
type Choice struct{ Value, Text, Consequence string }

// BackfillPage shows what a backfill would run, and runs it.
type BackfillPage struct {
	kit.Shell
	Way                             kit.Crumbs
	Heading, Post, Here, Back, Idem string
	From, To, Zone, Error           string
	Previewed                       bool
	Sentence, Slots, Rate           string
	Canary                          bool
	Button                          string
}
