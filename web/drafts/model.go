package drafts

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
)

// RequestForm is the form for a request.
type RequestForm struct {
	Action, CSRF, Idem, Button string
	Request, Examples          string
	Agents, Providers, Only    []kit.Option
	// MaxSteps and Budget limit the plan.
	MaxSteps, Budget string
	Approve, Fresh   bool
	Refine           bool // the form creates another draft
}

// AskPage is the model of the page with the form. Error explains why the typed values are invalid.
type AskPage struct {
	kit.Shell
	Form  RequestForm
	Error string
}

// DraftPage is the model of the page of a draft, with the progress of planning and the resulting
// plan.
type DraftPage struct {
	kit.Shell
	Plan
	Name, ID, Request, Idem string
	Version                 string
	Status                  kit.Status
	Facts                   []kit.Fact
	CanStart, CanDiscard    bool
	Open, Archived          bool // Open if it waits for acceptance; Archived if it was discarded
	// Reason explains why an agent answers without a plan. If it is empty, the reason of the
	// version is shown.
	Reason           string
	Planning         bool
	Progress         Progress
	Failure          *DraftFailure
	Refused          string
	Form             RequestForm
	Revision, Change string
	// Before is the draft that this one refines, and Changed summarizes the difference. Later are
	// the drafts that refine this one.
	Before  *kit.Link
	Changed string
	Later   []kit.Link
}

// Plan is the plan that a draft resulted in.
type Plan struct {
	Key                string
	PlanHref, EditHref string
	Steps              []DraftStep
	Unsafe             int
	Graph              *graph.Graph
	Assumed, Unusable  []string
	Problems           []kit.ProblemRow
	Lines              [][]plan.Span
	Diff               []kit.DiffLine // difference from the draft that this one refines
	// Alternatives can be accepted instead of the plan.
	Alternatives []DraftAlternative
}

// DraftAlternative is a plan that can be accepted instead of the proposed one.
type DraftAlternative struct {
	Kind, Name, Tokens, Took, Steps string
}

// Progress is the progress of planning.
type Progress struct {
	ID       string
	Planning bool
	Notes    []DraftNote
}

// DraftNote is a progress report of planning.
type DraftNote struct {
	At          kit.Time
	What, Agent string
	Text, Took  string
	Problems    []string
	Last        bool
	Start       int64 // start in Unix ms, if the phase is still running
}

// DraftFailure explains why planning failed.
type DraftFailure struct {
	Message, Suggestion, Code string
	Rules                     []string
	Answer                    string // last response of a model, if it was unusable
	Providers                 []kit.Option
}

// DraftStep is a step of a drafted plan.
type DraftStep struct {
	ID, Action, Effect string
	Why                string
	After              []string
	Unsafe, Chosen     bool
}

// following returns the attributes that refresh the progress while the draft is planned.
func following(p Progress) templ.Attributes {
	if !p.Planning {
		return nil
	}
	return templ.Attributes{"data-live": "draft-" + p.ID, "hx-get": "/plans/drafts/" + p.ID, "hx-trigger": "k:draft-" + p.ID + " from:body",
		"hx-swap": "morph:outerHTML"}
}

// chosenStep returns the attributes of a row. The selected row has the anchor to which boxes of the
// graph link.
func chosenStep(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"id": "why", "aria-current": "true"}
	}
	return nil
}

func acceptAddress(draft string) string { return "/plans/drafts/" + draft + "/accept" }

// mark returns the icon of a report: in progress, rejected, or done.
func (n DraftNote) mark() kit.Status {
	switch {
	case n.Last:
		return kit.Status{Key: "now", Icon: "i-now"}
	case len(n.Problems) > 0:
		return kit.Status{Key: "need", Icon: "i-need"}
	}
	return kit.Status{Key: "ok", Icon: "i-ok"}
}
