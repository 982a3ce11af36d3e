package action

import (
	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// PreviewPage says what an act would do, before it is done.
type PreviewPage struct {
	kit.Shell
	Action, Verb, Run, RunHref string
	Allowed                    bool
	Refusal, Suggestion        string
	Sentence                   string
	Damage                     string // what of the run's journal cannot be trusted
	Groups                     []PreviewGroup
	Effects                    []string
	Post                       string
	Idem, Rev, Digest          string
	Danger                     bool
	Reason                     bool
	Error                      string
	Points                     []kit.Option
	Versions                   []kit.Option
	Input                      *EditField
	Labels                     *EditField
	Around                     []string    // what would make it fail the same way
	Wait                       kit.Link    // to waiting until that is over
	Reset                      string      // address of this page without what was edited
	Changes                    []kit.Block // what edits change
	Mend                       bool        // the error is about what was typed
	Edits                      []EditField
	Check                      string
	Resume                     *ResumeForm
	Repeats                    []Repeat // side effects that would happen a second time
	Decisions                  []string // where the run would go, as far as it is known
	Newer                      string   // that there is a newer version
	NewerLinks                 []kit.Link
	Limits                     bool
	LimitValues                map[string]string
}

// PreviewGroup is a list of steps with one fate.
type PreviewGroup struct {
	Title string
	Steps []string
	Note  string
}

// ResumeForm is what a resume may be asked for besides going on.
type ResumeForm struct {
	Only              []kit.Option
	Timeout, Attempts string
}

// Repeat is a step whose side effects would happen a second time.
type Repeat struct {
	Name, Label, What string
	Doubtful          bool // nobody knows whether they happened a first time
	Choices           []kit.Option
	Stub, Wrong       string
	// Items of a step that runs once per item may go their own way; Own says that
	// some do. Each names its stub.
	Items []Repeat
	Own   bool
	Each  string
}

// EditField is a kept output that a fork may replace.
type EditField struct {
	Name, Value, Was string
	Wrong            string // why it cannot be used
}

// NotePage asks for a note.
type NotePage struct {
	kit.Shell
	Run, RunHref string
	Text         string // as it was typed
	Idem, Error  string
	Notes        []part.Note // there already
}

// checks makes a field of a preview ask anew what would happen when it changes.
func checks(address string) templ.Attributes {
	return templ.Attributes{"hx-post": address, "hx-trigger": "change", "hx-target": "#check", "hx-select": "#check", "hx-swap": "outerHTML", "hx-include": "closest form", "hx-vals": `{"do":"check"}`, "hx-sync": "closest form:replace"}
}
