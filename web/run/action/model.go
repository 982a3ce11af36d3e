package action

import (
	"slices"

	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// PreviewPage shows what an action would do, before it is done.
type PreviewPage struct {
	kit.Shell
	Verdict
	Form
	Options
	Outcome
	Action, Button, Run, RunHref string
}

// Verdict is whether the action is allowed, and its effect in a sentence.
type Verdict struct {
	Allowed             bool
	Refusal, Suggestion string
	Instead             []kit.Link // what is possible where it is not allowed
	Sentence            string
	Damage              string // what of the run's journal cannot be trusted
	Error               string
}

// Form is what is sent to do it.
type Form struct {
	Post              string
	Idem, Rev, Digest string
	Danger            bool
	Reason            bool
	Reset             string // address of this page without what was edited
	InputError        bool   // the error is about what was typed
	Check             string
}

// Options are further choices of the action.
type Options struct {
	Points      []kit.Option
	Versions    []kit.Option
	Input       *EditField
	Labels      *EditField
	Edits       []EditField // the last is the nearest to what runs
	Resume      *ResumeForm
	Limits      bool
	LimitValues map[string]string
}

// Outcome is what would happen.
type Outcome struct {
	Groups     []PreviewGroup
	Effects    []string
	Around     []string    // what would make it fail the same way
	Wait       kit.Link    // to waiting until that is over
	Changes    []kit.Block // what edits change
	Repeats    []Repeat    // side effects that would happen a second time
	Decisions  []string    // where the run would go, as far as it is known
	Newer      string      // that there is a newer version
	NewerLinks []kit.Link
}

// Edited reports that a kept output other than the last was edited, well or not.
func (o Options) Edited() bool {
	return slices.ContainsFunc(o.Edits[:len(o.Edits)-1], EditField.Changed)
}

// PreviewGroup is a list of steps with one fate.
type PreviewGroup struct {
	Title string
	Steps []string
	Note  string
}

// ResumeForm are the choices of a resume besides continuing.
type ResumeForm struct {
	Only              []kit.Option
	Timeout, Attempts string
	Open              bool // its limits are shown
}

// Repeat is a step whose side effects would happen a second time.
type Repeat struct {
	Name, Label, What string
	Doubtful          bool // in doubt whether they happened the first time
	Choices           []kit.Option
	Stub, Wrong       string
	// Items of a step that runs once per item may have their own overrides; Own is true if some do. Each
	// names its stub.
	Items []Repeat
	Own   bool
	Each  string
}

// EditField is a kept output that a fork may replace.
type EditField struct {
	Name, Value, Was string
	Wrong            string // why it cannot be used
}

// Changed reports whether the value was edited, well or not.
func (f EditField) Changed() bool { return f.Wrong != "" || f.Value != f.Was }

// NotePage asks for a note.
type NotePage struct {
	kit.Shell
	Run, RunHref string
	Text         string // as it was typed
	Idem, Error  string
	Notes        []part.Note // there already
}

// checks makes a field update the preview when it changes.
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
