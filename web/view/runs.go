package view

// RunRow is a run in a list.
type RunRow struct {
	ID, Short, Href string
	Status          Status
	Plan, PlanHref  string
	Version         string
	Headline        string
	Took            string
	Since           int64 // ms of its start while it runs, else 0
	Started         Time
	Strip           []Cell
	Peek            string // address of a look at it
	// Where the list may be filtered by what a cell says; empty: nowhere.
	StatusHref, VersionHref string
	Terms                   []Link
	Cells                   []CellText // of the columns that were chosen
}

// CellText is what a chosen column says of a run.
type CellText struct {
	ID, Text string // ID names a cell that follows the run
	Links    []Link // terms that the filter may be narrowed by
	At       Time
	Number   bool
}

// Column is a column that may be chosen.
type Column struct {
	Key, Text string
	Chosen    bool
	Number    bool
	Sort      string // address of the list sorted by it
	Sorted    bool
}

// RunPeek is a look at a run without leaving the list.
type RunPeek struct {
	Shell
	Row     RunRow
	Error   string
	Code    string
	Facts   []Fact
	Terms   []Link // that the list may be narrowed by
	Log     []string
	Actions []Link
	Span    string // columns of the list
}

// Cell is one step in the strip of a run's shape.
type Cell struct {
	X     string // percent
	W     string
	Y, H  string
	Class string
}

// RunsPage is the run list.
type RunsPage struct {
	Shell
	Query, Error, Suggestion string
	Chips                    []Link
	Rows                     []RunRow
	Count                    string
	Newest, Newer, Older     string
	Topic                    string
	// Views are saved queries; CanSave offers to keep this one.
	Views   []Link
	CanSave bool
	Saved   string // name under which this query is kept
	// Acts on many runs, if the reader may act.
	Acts    []Link
	All     string // "select all 27 that match"
	AllHref []Link
	Back    string
	Pill    string // address of how many are new
	Narrow  []Link // what removing a term would give
	// Stopped says how far a search came, Narrowings what would make it shorter.
	Stopped    string
	Narrowings []Link
	Ranges     []Link // quick ranges of time
	Rest       string // the query without its range
	Ranged     bool   // there is a range
	Custom     bool   // it is none of the quick ones
	From, To   string // as form fields
	// DefaultView: the list opens with this query; CanDefault: it may.
	DefaultView, CanDefault bool
	Columns                 []Column
	Took                    Column // the sortable column that is always there
	Sorted                  string // what the list is sorted by, and among which runs
	Sizes                   []Link
	CSV                     string
	Span                    string // how many columns there are
	Here                    string
}

// Chosen are the columns to show.
func (p RunsPage) Chosen() []Column {
	var out []Column
	for _, c := range p.Columns {
		if c.Chosen {
			out = append(out, c)
		}
	}
	return out
}
