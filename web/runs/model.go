package runs

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// Column is an optional column of the run list.
type Column struct {
	Key, Text string
	Chosen    bool
	Number    bool
	Sort      string // address of the list sorted by it
	Sorted    bool
}

// RunPeek is the preview of a run inside the list.
type RunPeek struct {
	kit.Shell
	Row     part.Row
	Error   string
	Code    string
	Facts   []kit.Fact
	Terms   []kit.Link // links that filter the list by properties of the run
	Log     []string
	Actions []kit.Link
	Span    string // number of columns in the list
}

// RunsPage is the model of the run list.
type RunsPage struct {
	kit.Shell
	Filter
	SavedViews
	Table
	Selection
	// Histogram shows the outcomes of runs over time. It is nil if the query has no histogram.
	Histogram            *kit.Chart
	Rows                 []part.Row
	Count                string
	Newest, Newer, Older string
	Topic                string
	Pill                 string // address of the fragment with the number of new runs
	Here                 string
}

// Filter is the query of the list, with links that narrow or widen it.
type Filter struct {
	Query, Error, Suggestion string
	Chips                    []kit.Link
	Terms                    []kit.Link // terms of the query; each links to the list without it
	// PlanTerms and LabelTerms filter the list by a plan or a label.
	PlanTerms, LabelTerms []kit.Link
	Narrow                []kit.Link // number of matches without each term
	// Unfinished is set if the last term of the query is ignored because it is being typed.
	Unfinished string
	// Stopped states how far an incomplete search got. Narrowings narrow it.
	Stopped    string
	Narrowings []kit.Link
	Ranges     []kit.Link // quick time ranges
	Rest       string     // query without its time range
	Ranged     bool       // the query has a time range
	Custom     bool       // the time range is not a quick range
	From, To   string     // values of form fields
}

// SavedViews are the saved queries.
type SavedViews struct {
	// CanSave offers to save the current query.
	Views   []kit.Link
	CanSave bool
	Saved   string // name of the current query, if it is saved
	// DefaultView is set if the list opens with the current query. CanDefault is set if the query
	// can become the default.
	DefaultView, CanDefault bool
}

// Table describes how the rows are shown.
type Table struct {
	Columns []Column
	Took    Column // the sortable column that is always shown
	Sorted  string // sort order, and the range of runs it covers
	Sizes   []kit.Link
	CSV     string
	Span    string // number of columns
}

// Selection contains the bulk operations on runs of the list.
type Selection struct {
	// Actions are empty if the user may not start bulk operations.
	Actions []kit.Link
	All     string // label, such as "All 27 that match"
	AllHref []kit.Link
	Back    string
}

// Chosen returns the columns to show.
func (p RunsPage) Chosen() []Column {
	var out []Column
	for _, c := range p.Columns {
		if c.Chosen {
			out = append(out, c)
		}
	}
	return out
}
