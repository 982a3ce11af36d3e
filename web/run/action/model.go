package action

import (
	"slices"

	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// PreviewPage is the preview of an action.
type PreviewPage struct {
	kit.Shell
	Crumbs kit.Crumbs
	Verdict
	Form
	Options
	Outcome
	Action, Button, Run, RunHref string
}

// Verdict reports whether the action is allowed, with its effect in a sentence.
type Verdict struct {
	Allowed             bool
	Refusal, Suggestion string
	Instead             []kit.Link // alternatives if the action is not allowed
	Sentence            string
	Damage              string // damage of the run's journal
	Error               string
}

// Form is the form that performs the action.
type Form struct {
	Post              string
	Idem, Rev, Digest string
	Confirm           bool   // the person confirms the action of an MCP client
	At                string // its checkpoint; empty: none
	Danger            bool
	Reason            bool
	Reset             string // address of this page without the edits
	InputError        bool   // Error concerns a submitted value
	Check             string
}

// Options are the options of the action.
type Options struct {
	Points      []kit.Option
	Versions    []kit.Option
	Profiles    []kit.Option
	Input       *EditField
	Labels      *EditField
	Edits       []EditField // in order, the last is closest to the fork point
	Resume      *ResumeForm
	Skips       []kit.Option // steps that an undo leaves as they are
	Limits      bool
	LimitValues map[string]string
}

// Outcome is the predicted effect of the action.
type Outcome struct {
	Undo       []UndoCall
	Groups     []PreviewGroup
	Effects    []string
	Around     []string    // causes that would make it fail again
	Wait       kit.Link    // link that resumes when the cause is resolved
	Changes    []kit.Block // diffs of the edited values
	Repeats    []Repeat    // side effects that would happen a second time
	Decisions  []string    // predicted path
	Newer      string      // note about a newer version
	NewerLinks []kit.Link
}

// Edited reports whether a kept output other than the last was edited, even with an invalid value.
func (o Options) Edited() bool {
	return slices.ContainsFunc(o.Edits[:len(o.Edits)-1], EditField.Changed)
}

// PreviewGroup is a group of steps with the same outcome.
type PreviewGroup struct {
	Title string
	Steps []string
	Note  string
}

// UndoCall is a call that an undo makes.
type UndoCall struct {
	Step   string // the step that it undoes
	At     kit.Time
	Call   string
	Effect string
	Input  string
}

// ResumeForm contains the options of a resume.
type ResumeForm struct {
	Only              []kit.Option
	Timeout, Attempts string
	Open              bool // expand the limits
}

// Repeat is a step whose side effects would happen a second time.
type Repeat struct {
	Name, Label, What string
	Doubtful          bool // unknown whether they happened the first time
	Choices           []kit.Option
	Stub, Wrong       string
	// Items are the items of a foreach, which may have their own overrides. Own is set if some do.
	// Each is the label of the stub for each item.
	Items []Repeat
	Own   bool
	Each  string
}

// EditField is a kept output that a fork can replace.
type EditField struct {
	Name, Value, Was string
	Wrong            string // error of an invalid value
}

// Changed reports whether the value was edited, even with an invalid value.
func (f EditField) Changed() bool { return f.Wrong != "" || f.Value != f.Was }

// NotePage is the form for a note.
type NotePage struct {
	kit.Shell
	Crumbs       kit.Crumbs
	Run, RunHref string
	Text         string // submitted text
	Idem, Error  string
	Notes        []part.Note // existing notes
}

// checks returns htmx attributes that update the preview when a field changes.
func checks(address string) templ.Attributes {
	return templ.Attributes{
		"hx-post":    address,
		"hx-trigger": "change",
		"hx-target":  "#check",
		"hx-swap":    "outerHTML",
		"hx-include": "closest form",
		"hx-vals":    `{"do":"check"}`,
		"hx-sync":    "closest form:replace",
	}
}
