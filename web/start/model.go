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
	Missing       []kit.Link // fields that are missing or do not fit
	CLI, Curl     string
	Number        string // of the version
	Versions      []kit.Link
	Labels        string
	Priority      string
	Like          kit.Link // the run whose input it begins with
	Effects       []string // steps that cannot be undone or repeated
	Dry, Offline  bool
	Paused        string // since when, by whom and why no run of the plan starts
}

// ChoosePage asks of which plan a run is to be started.
type ChoosePage struct {
	kit.Shell
	Query        string
	Rows         []PlanRow
	Newer, Older string
}

// PlanRow is a plan in a list.
type PlanRow struct {
	Key, Href, Name, Version, About string
	Updated                         kit.Time
}
