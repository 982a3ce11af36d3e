package view

// VersionRow is a version of a plan.
type VersionRow struct {
	Number, Href, Hash, Author, Origin, Reason string
	At                                         Time
	Current                                    bool
	Diff                                       string // address of the difference to the version before
}

// PlanPage is one version of a plan.
type PlanPage struct {
	Shell
	Key, Name, Description string
	Version                string
	Hash                   string
	Actions                []Link
	Facts                  []Fact
	Graph                  *Graph
	Lines                  []string
	Versions               []VersionRow
	Runs                   []RunRow
	Effects                []Fact
	Archived               bool
	Stats                  PlanStats
	UsedBy                 []Link // plans that run it
	AllRuns                string
}
