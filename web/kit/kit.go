// Package kit holds the templates and view models that several pages share. Templates take only view models:
// strings and numbers, ready to print. The package imports nothing about plans, runs, or the store.
package kit

import "time"

// Shell is what every page has around its content.
type Shell struct {
	Account
	Appearance
	Title   string
	Section string // which navigation entry is current
	Version string
	Live    bool   // the page has live parts
	Favicon string // failed, completed, running, waiting, idle
	Now     int64  // server's clock, ms
	Pending int64  // open approvals
	Static  func(string) string
	Done    string // what the act before this page did
	Notices []Notice
	Nav     []Link
	Tabs    []Link // the navigation of a phone
	Own     []Link // what lives behind the initials
	Node    string // the machine; empty before login
	Here    string // this page's address, to come back to
	JSON    string // address of the same data for programs
	At      string // the position up to which the page shows events, for its live stream
	Dialog  bool   // only the content is wanted: it is shown in a dialog
	Once    []Once // the forms that the page's buttons for acts at one click send
	Began   time.Time
}

// Account is who is logged in.
type Account struct {
	User string
	// Initials stand for User where the whole name has no room.
	Initials string
	Role     string
	CSRF     string
	Zone     string
	Idle     int64 // ms without a request after which the login ends; 0: it does not
}

// Appearance is how the reader wants pages.
type Appearance struct {
	Theme   string // "", light, dark
	Density string // "", compact
	// Inspector is how wide the column beside a run's steps is: "", s, l.
	Inspector string
	// Shortcuts is "off" for those who want no single keys.
	Shortcuts string
	Display   []Choice
}

// Once is what an act at one click is sent with: it stands outside the live parts, which
// hold its buttons.
type Once struct{ ID, Action, Idem, Rev string }

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
	// Detail follows the word: when it is tried again, what is waited for.
	Detail string
}

// Link is a named address.
type Link struct {
	Text, Href string
	Current    bool
	Count      string
	Key        string // data-key for shortcuts
	Danger     bool
	Icon       string // glyph before the text
	Class      string
	Primary    bool
	Dialog     bool // with scripts it opens in a dialog
	Swaps      bool // with scripts its answer swaps the part of the page that the element around it names
	// Form is the id of the form that a button for an act at one click sends, Do what that calls the act.
	Form, Do string
}

// Time is a moment in both forms that pages print.
type Time struct {
	Text  string // in the operator's zone
	UTC   string // RFC 3339
	Title string
}

// Fact is a term and its value.
type Fact struct {
	Term, Text, Href string
	// Icon stands for the term where there is little room.
	Icon string
	Mono bool
}
