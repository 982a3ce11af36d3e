package start

import "github.com/kairosd/kairosd/web/kit"

// StartPage is the form that starts a run.
type StartPage struct {
	kit.Shell
	Plan, Version string
	Post, Idem    string
	Fields        []kit.Field
	Input         string
	Error         string
	Problems      []string
	Missing       []kit.Link // links to fields with missing or invalid values
	CLI, Curl     string
	Number        string // number of the version
	Versions      []kit.Link
	Profile       string
	Profiles      []kit.Option // empty: the version declares none
	Labels        string
	Priority      string
	Like          kit.Link   // the run that the input is copied from
	Schedule      kit.Link   // the schedule that the input is copied from
	Settings      []kit.Fact // what the version sets for its runs
	Effects       []string   // non-idempotent steps
	Dry, Offline  bool
	Paused        string // why the plan is paused, since when, and by whom; empty if it is not
}

// ChoosePage lists the plans of which a run can be started.
type ChoosePage struct {
	kit.Shell
	Query        string
	Rows         []PlanRow
	Newer, Older string
}

// PlanRow is a plan in the list.
type PlanRow struct {
	Key, Href, Name, Version, About string
	Updated                         kit.Time
}
