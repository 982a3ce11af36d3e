package handoffs

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/handoff"
	"github.com/kairosd/kairosd/web/run/step"
)

// Handoffs is who gave work to whom in a run.
type Handoffs struct {
	Sequence     handoff.Sequence
	Rows         []HandoffRow
	Pages        kit.RowPages
	Conversation Conversation
	// Chosen is one of them in full, beside the others.
	Chosen *step.Inspector
}

// HandoffRow is work passing from one agent to another.
type HandoffRow struct {
	Seq                   int64
	Refused               string // why it was not made; empty: it was
	At                    kit.Time
	From, To              string
	Step                  kit.Link
	Reason, Context, Size string
	Keys                  []string // of the context, if it is an object
	Hash                  string   // of the context: the beginning of its SHA-256
	Tools                 []string // that the receiver was offered
	Back                  bool     // work comes back to who gave it
	Open                  bool     // the receiver is at it
	Result                kit.Status
	Took, Cost            string
	Href                  string // puts it beside the others
	Chosen                bool
}
