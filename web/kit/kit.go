// Package kit holds the templates and view models that several pages share. Templates take only
// view models: strings and numbers, ready to print. The package imports nothing about plans, runs,
// or the store.
package kit

import "time"

// Shell is the frame around the content of every page.
type Shell struct {
	Account
	Appearance
	Title        string
	Section      string // current nav item
	Version      string
	Live         bool   // whether the page has live regions
	Favicon      string // failed, completed, running, waiting, or idle
	Now          int64  // server time, Unix milliseconds
	InboxCount   int64  // approval requests and runs in doubt that wait for a person
	Static       func(string) string
	Done         string // confirmation of the previous action
	Notices      []Notice
	Nav          []Link
	Tabs         []Link // navigation on phones
	AccountLinks []Link // account menu
	Node         string // host name; empty before login
	Address      string // address of this page, to return to
	JSON         string // address of the JSON view
	Position     string // position of the last event shown; the live stream resumes there
	Dialog       bool   // render only the content, for a dialog
	Once         []Once // forms of the one-click actions
	RequestStart time.Time
}

// Account describes the logged-in user.
type Account struct {
	User string
	// Initials abbreviate User where space is limited.
	Initials string
	Role     string
	CSRF     string
	Zone     string
	Idle     int64 // session idle timeout, milliseconds; 0 if there is none
}

// Appearance holds the display settings of the reader.
type Appearance struct {
	Theme   string // "", "light", or "dark"
	Density string // "" or "compact"
	// Inspector is the width of the column next to the steps of a run: "" (medium), "s", or "l".
	Inspector string
	// Shortcuts is "off" if single-key shortcuts are disabled.
	Shortcuts string
	Display   []Choice
}

// Once is the hidden form of a one-click action. It is outside the live regions, so that updates
// keep its idempotency key; the buttons in the regions refer to it.
type Once struct{ ID, Action, Idem, Rev string }

// Elapsed returns the time since the request began, in milliseconds.
func (s Shell) Elapsed() int64 { return time.Since(s.RequestStart).Milliseconds() }

// Choice is one display setting.
type Choice struct {
	Name, Label string
	Options     []Option
}

// Status is a state, shown as a word, a shape, and a color.
type Status struct {
	Key   string // class: ok, fail, now, need, or idle
	Icon  string // icon id
	Word  string
	Final bool
	// Detail follows the word, such as the time of the next attempt.
	Detail string
}

// Link is a link or a button.
type Link struct {
	Text, Href string
	Current    bool
	Count      string
	Key        string // value of data-key, for shortcuts
	Danger     bool
	Icon       string // icon before the text
	Class      string
	Primary    bool
	Dialog     bool // opens in a dialog if scripts run
	Swaps      bool // swaps the target of a surrounding element if scripts run
	// Form is the id of the [Once] form that a button submits, and Do the action it sends.
	Form, Action string
}

// Time is a point in time in two formats.
type Time struct {
	Text  string // in the reader's time zone
	UTC   string // RFC 3339
	Title string
}

// Fact is a term and its value.
type Fact struct {
	Term, Text, Href string
	// Icon replaces the term where space is limited.
	Icon string
	Mono bool
}
