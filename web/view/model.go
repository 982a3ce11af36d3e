// Package view renders pages. Templates take view models only: strings and
// numbers, ready to print; nothing here knows plans, runs or the store.
package view

import "time"

// Shell is what every page has around its content.
type Shell struct {
	Title   string
	Section string // which navigation entry is current
	User    string
	Role    string
	CSRF    string
	Version string
	Live    bool   // the page has live parts
	Theme   string // "", light, dark
	Favicon string // failed, completed, running, waiting, idle
	Now     int64  // server's clock, ms
	Pending int64  // open approvals
	Static  func(string) string
	Zone    string
	Flash   string
	Notices []Notice
	Nav     []Link
	Density string // "", compact
	Display []Choice
	Here    string // this page's address, to come back to
	JSON    string // address of the same data for programs
	Began   time.Time
}

// Elapsed is how long the page took so far, in ms.
func (s Shell) Elapsed() int64 { return time.Since(s.Began).Milliseconds() }

// Choice is one setting of the display.
type Choice struct {
	Name, Label string
	Options     []Option
}

// Status is a state in word, shape and colour, in that order of trust.
type Status struct {
	Key   string // class: ok fail now need idle
	Icon  string // id of the glyph
	Word  string
	Final bool
}

// Link is a named address.
type Link struct {
	Text, Href string
	Current    bool
	Count      string
	Key        string // data-key for shortcuts
	Danger     bool
	Primary    bool
}

// Time is a moment in both forms that pages print.
type Time struct {
	Text  string // in the operator's zone
	UTC   string // RFC 3339
	Title string
}

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
}

// Fact is a term and its value.
type Fact struct {
	Term, Text, Href string
	Mono             bool
}

// StepRow is one visit of a node in the timeline.
type StepRow struct {
	Number   string
	Name     string
	Href     string
	Kind     string
	Notes    string
	Status   Status
	Selected bool
	Dim      bool
	Sub      bool
	Took     string
	Since    int64
	Bars     []Bar
}

// Bar is a segment of a timeline row; positions are percent of the span.
type Bar struct {
	X, W, Y, H string
	Class      string
}

// Tick is a mark on the time axis.
type Tick struct{ X, Label string }

// Block is a titled piece of text or JSON.
type Block struct {
	ID    string
	Title string
	Text  string
	JSON  *Node
	Raw   string // address of the whole
	Note  string
}

// Node is a value in the JSON viewer.
type Node struct {
	Key      string
	Kind     string // object, list, string, number, word
	Text     string
	Count    string
	Children []Node
	More     string
	Open     bool
}

// Inspector shows one step.
type Inspector struct {
	Name, Sub string
	Status    Status
	Attempts  []Link
	Tabs      []Link
	Blocks    []Block
	Actions   []Link
	Doubt     *DoubtForm
}

// DoubtForm settles an attempt that may or may not have happened.
type DoubtForm struct {
	// What says how it came to be unknown.
	What                       string
	Action                     string
	CSRF, Idem, Rev            string
	Node, Visit, Item, Attempt string
	Key                        string
}

// ApprovalView is a question for a person.
type ApprovalView struct {
	ID, Href, Message string
	Run, RunHref      string
	Plan, Node        string
	Since             Time
	Due               string
	Digest            string
	Status            string
	DecidedBy         string
	Comment           string
	Action            string
	CSRF, Idem        string
	Fields            []Field
	FormError         string
	// Tool and Arguments are the call that is asked about, in full.
	Tool, Arguments string
}

// Field is an input of a form made from a JSON Schema.
type Field struct {
	Name, Label, Type, Value, Hint string
	Required                       bool
	Options                        []string
	Rows                           int
}

// Why is the band that says what is wrong and what acting will do.
type Why struct {
	Class    string
	Headline string
	Message  string
	Then     string
	Items    []string
	Links    []Link
}

// RunPage is one run.
type RunPage struct {
	Shell
	ID, Short string
	Status    Status
	Plan      Link
	Version   Link
	Sub       string
	Ended     Time
	Actions   []Link
	Why       *Why
	Facts     []Fact
	Views     []Link
	View      string
	Steps     []StepRow
	Ticks     []Tick
	Legend    []Status
	Inspector *Inspector
	Approvals []ApprovalView
	Graph     *Graph
	Events    []EventRow
	Blocks    []Block
	Log       []LogLine
	Talk      Talk
	Related   []RunRow
	State     *StateView
	Handoffs  []HandoffRow
	Summary   string
	// FaviconPath is the icon of the tab that goes with the state.
	FaviconPath string
	Refresh     string // address of this page's live part
	Topic       string
	Terminal    bool
}

// EventRow is one journal row or audit event.
type EventRow struct {
	Seq, What, Where, Who, Text string
	Href                        string // of what it is about
	At                          Time
	Status                      Status
}

// LogLine is one line of a node's log.
type LogLine struct {
	Number, Level, Step, Text string
	At                        Time
}

// Graph is a drawn plan; numbers are SVG user units.
type Graph struct {
	Width, Height string
	Label         string
	Nodes         []GraphNode
	Edges         []GraphEdge
}

// GraphNode is a box.
type GraphNode struct {
	Name, Short, Detail, Href string
	Class                     string
	X, Y, W, H                string
	TX, TY, DY                string
	Icon, IX, IY              string
	Shape                     string // path data; empty: a box
	Selected                  bool
	RX, RY, RW, RH            string
	Title                     string
}

// GraphEdge is a line.
type GraphEdge struct {
	Path, Class, Marker string
	Label, LX, LY       string
	BX, BY, BW          string
}

// PreviewPage says what an act would do, before it is done.
type PreviewPage struct {
	Shell
	Action, Verb, Run, RunHref string
	Allowed                    bool
	Refusal, Suggestion        string
	Sentence                   string
	Groups                     []PreviewGroup
	Effects                    []string
	Post                       string
	Idem, Rev, Digest          string
	Danger                     bool
	Reason                     bool
	Error                      string
	Points                     []Option
	Versions                   []Option
	Input                      *string
	Edits                      []EditField
	Check                      string
	Limits                     bool
	LimitValues                map[string]string
}

// PreviewGroup is a list of steps with one fate.
type PreviewGroup struct {
	Title string
	Steps []string
	Note  string
}

// Option is a choice of a select.
type Option struct {
	Value, Text string
	Selected    bool
}

// EditField is a kept output that a fork may replace.
type EditField struct{ Name, Value, Was string }

// PlanRow is a plan in a list.
type PlanRow struct {
	Key, Href, Name, Version string
	Updated                  Time
}

// PlansPage is the plan list.
type PlansPage struct {
	Shell
	Query        string
	Rows         []PlanRow
	Newer, Older string
}

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
}

// PlanForm is the editor.
type PlanForm struct {
	Shell
	Heading  string
	Source   string
	Reason   string
	Post     string
	Idem     string
	Problems []ProblemRow
	Saved    string
	Checked  bool
	Graph    *Graph
}

// ProblemRow is one thing wrong with a plan.
type ProblemRow struct{ Severity, Where, Message, Suggestion string }

// StartPage is the form that starts a run.
type StartPage struct {
	Shell
	Plan, Version string
	Post, Idem    string
	Fields        []Field
	Input         string
	Error         string
	Problems      []string
	CLI           string
}

// HomePage is what is wrong, what needs somebody, what runs.
type HomePage struct {
	Shell
	Groups      []GroupRow
	Failed      string
	More        string
	Attention   []RunRow
	MoreWaiting string
	Approvals   []ApprovalView
	Running     []RunRow
	Counts      []Fact
	Empty       bool
	Topic       string
}

// ApprovalsPage is the inbox.
type ApprovalsPage struct {
	Shell
	Doubts       []RunRow
	States       []Link
	Items        []ApprovalView
	Newer, Older string
	Topic        string
}

// ApprovalPage is one decision.
type ApprovalPage struct {
	Shell
	Approval ApprovalView
}

// AuditPage is the audit log.
type AuditPage struct {
	Shell
	Form         AuditForm
	Rows         []EventRow
	Newer, Older string
}

// LoginPage asks for name and password, or sets up the first user.
type LoginPage struct {
	Shell
	Setup bool
	Token string
	Next  string
	Name  string
	Error string
}

// ErrorPage says what happened and what still works.
type ErrorPage struct {
	Shell
	Code       int
	Headline   string
	Message    string
	Suggestion string
	ID         string
}
