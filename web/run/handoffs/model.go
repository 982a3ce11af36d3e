package handoffs

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/handoff"
	"github.com/kairosd/kairosd/web/run/step"
)

// Handoffs contains the handoffs of a run.
type Handoffs struct {
	Sequence     handoff.Sequence
	Rows         []HandoffRow
	Pages        kit.RowPages
	Conversation Conversation
	// Chosen contains the details of the selected handoff, or nil.
	Chosen *step.Inspector
}

// HandoffRow is one handoff, or a rejected one.
type HandoffRow struct {
	Seq                   int64
	Refused               string // reason of the rejection, or empty
	At                    kit.Time
	From, To              string
	Step                  kit.Link
	Reason, Context, Size string
	Keys                  []string // keys of the context, if it is an object
	Hash                  string   // beginning of the SHA-256 of the context
	Tools                 []string // tools that the receiver was offered
	Back                  bool     // the receiver returns work to the sender
	Open                  bool     // the receiver has not finished
	Result                kit.Status
	Took, Cost            string
	Href                  string // address of this page with its details
	Chosen                bool
}
