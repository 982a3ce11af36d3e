package runs

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

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
	kit.Shell
	Row     part.Row
	Error   string
	Code    string
	Facts   []kit.Fact
	Terms   []kit.Link // that the list may be narrowed by
	Log     []string
	Actions []kit.Link
	Span    string // columns of the list
}

// RunsPage is the run list.
type RunsPage struct {
	kit.Shell
	Filter
	SavedViews
	Table
	Selection
	// Histogram is how the runs ended over time; nil: the query has none.
	Histogram            *kit.Chart
	Rows                 []part.Row
	Count                string
	Newest, Newer, Older string
	Topic                string
	Pill                 string // address of how many are new
	Here                 string
}

// Filter is the query of the list, and what narrows or widens it.
type Filter struct {
	Query, Error, Suggestion string
	Chips                    []kit.Link
	Terms                    []kit.Link // of the query; each leads to the list without it
	// PlanTerms and LabelTerms narrow the list to a plan or a label.
	PlanTerms, LabelTerms []kit.Link
	Narrow                []kit.Link // what removing a term would give
	// Unfinished is set if the last term of the query is ignored because it is being typed.
	Unfinished string
	// Stopped is how far a search came, Narrowings what would make it shorter.
	Stopped    string
	Narrowings []kit.Link
	Ranges     []kit.Link // quick ranges of time
	Rest       string     // the query without its range
	Ranged     bool       // there is a range
	Custom     bool       // it is none of the quick ones
	From, To   string     // as form fields
}

// SavedViews are saved queries.
type SavedViews struct {
	// Views are saved queries; CanSave offers to keep this one.
	Views   []kit.Link
	CanSave bool
	Saved   string // name under which this query is kept
	// DefaultView: the list opens with this query; CanDefault: it may.
	DefaultView, CanDefault bool
}

// Table is how the rows are shown.
type Table struct {
	Columns []Column
	Took    Column // the sortable column that is always there
	Sorted  string // what the list is sorted by, and among which runs
	Sizes   []kit.Link
	CSV     string
	Span    string // how many columns there are
}

// Selection is what can be done with many runs of the list.
type Selection struct {
	// Bulk operations, if the reader may start any.
	Actions []kit.Link
	All     string // "select all 27 that match"
	AllHref []kit.Link
	Back    string
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
