package drafts

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
)

// RequestForm takes what is wanted of a plan.
type RequestForm struct {
	Action, CSRF, Idem, Button string
	Request, Examples          string
	Agents, Providers, Only    []kit.Option
	// MaxSteps and Budget bound the plan.
	MaxSteps, Budget string
	Approve, Fresh   bool
	Refine           bool // another draft of the same
}

// AskPage takes a request; Error is why the typed text cannot be used.
type AskPage struct {
	kit.Shell
	Form  RequestForm
	Error string
}

// DraftPage is the making of a plan of a request, and the plan, which nothing has
// started.
type DraftPage struct {
	kit.Shell
	Plan
	Name, ID, Request, Idem string
	Version                 string
	Status                  kit.Status
	Facts                   []kit.Fact
	CanStart, CanDiscard    bool
	Open, Archived          bool // it waits to be accepted; it was discarded
	// Reason why an agent answers directly; empty: that of the version.
	Reason           string
	Planning         bool
	Progress         Progress
	Failure          *DraftFailure
	Refused          string
	Form             RequestForm
	Revision, Change string
	// Before is the draft that this one was refined from, with what changed; Later
	// are those that refine it.
	Before  *kit.Link
	Changed string
	Later   []kit.Link
}

// Plan is the plan that a draft came to.
type Plan struct {
	Key                string
	PlanHref, EditHref string
	Steps              []DraftStep
	Unsafe             int
	Graph              *graph.Graph
	Assumed, Unusable  []string
	Problems           []kit.ProblemRow
	Lines              [][]plan.Span
	Diff               []kit.DiffLine // from the draft that this one was refined from
	// Alternatives can be accepted instead of the plan.
	Alternatives []DraftAlternative
}

// DraftAlternative is a plan that can be accepted instead of the proposed one.
type DraftAlternative struct {
	Kind, Name, Tokens, Took, Steps string
}

// Progress is how far planning is.
type Progress struct {
	ID       string
	Planning bool
	Notes    []DraftNote
}

// DraftNote is one progress report of planning.
type DraftNote struct {
	At         kit.Time
	What, Who  string
	Text, Took string
	Problems   []string
	Last       bool
	Start      int64 // ms; the time continues
}

// DraftFailure is why there is no plan.
type DraftFailure struct {
	Message, Suggestion, Code string
	Rules                     []string
	Answer                    string // the last answer of a model that could not be used
	Providers                 []kit.Option
}

// DraftStep is a step of a draft.
type DraftStep struct {
	ID, Does, Effect string
	Why              string
	After            []string
	Unsafe, Chosen   bool
}

// following makes the progress of a draft fetch itself again while it is planned.
func following(p Progress) templ.Attributes {
	if !p.Planning {
		return nil
	}
	return templ.Attributes{"data-live": "draft-" + p.ID, "hx-get": "/plans/drafts/" + p.ID, "hx-trigger": "k:draft-" + p.ID + " from:body",
		"hx-swap": "morph:outerHTML"}
}

// chosenStep marks the row that the picture leads to: the one with the reason.
func chosenStep(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"id": "why", "aria-current": "true"}
	}
	return nil
}

func acceptAddress(draft string) string { return "/plans/drafts/" + draft + "/accept" }

// mark is the shape of a note: planning is at it, it was rejected, or it is done.
func (n DraftNote) mark() kit.Status {
	switch {
	case n.Last:
		return kit.Status{Key: "now", Icon: "i-now"}
	case len(n.Problems) > 0:
		return kit.Status{Key: "need", Icon: "i-need"}
	}
	return kit.Status{Key: "ok", Icon: "i-ok"}
}
