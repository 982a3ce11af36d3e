package planner

// Everything in this file is a signature that waits for its implementation in
// the file that its comment names; this file goes when the last one has moved.

type walkState struct{}

// ---- walk.go

// NewWalk starts a walk at the program's roots.
func NewWalk(p *Program, f Facts) *Walk { panic("stub") }

// Ready returns, in file order, the visits that became ready since the last
// call.
func (w *Walk) Ready() []VisitKey { panic("stub") }

// Open returns all visits that are ready and not settled, in the order in
// which they became ready.
func (w *Walk) Open() []VisitKey { panic("stub") }

// Last is the value that conditions, references and a missing input see as
// `last` in the visit.
func (w *Walk) Last(v VisitKey) any { panic("stub") }

// Input resolves the visit's input; item is -1 without foreach. References to
// secrets stay as they are written.
func (w *Walk) Input(v VisitKey, item int) (any, *Failure) { panic("stub") }

// DispatchInput is Input with secrets resolved. A value that merely looks like
// a reference to a secret, because data held that text, stays text.
func (w *Walk) DispatchInput(v VisitKey, item int, secret func(name string) (string, bool)) (any, *Failure) {
	panic("stub")
}

// Items resolves the list of a foreach visit and returns its length. A visit
// with an empty list is settled by the driver: Completed, output [].
func (w *Walk) Items(v VisitKey) (int, *Failure) { panic("stub") }

// NextItem returns the lowest item that was neither started nor settled, and
// marks it started; -1 when none may start (all did, or one failed).
func (w *Walk) NextItem(v VisitKey) int { panic("stub") }

// Settle applies a final outcome, evaluating conditions, and returns what was
// decided. Its error is a misuse: the visit or item is not open.
func (w *Walk) Settle(s Settlement) (Decision, error) { panic("stub") }

// Replay applies a recorded outcome with its recorded decision.
func (w *Walk) Replay(s Settlement, d Decision) error { panic("stub") }

// Stop makes the walk accept no new visit: open ones are settled by the
// driver, what becomes of them leads nowhere, and the walk ends Cancelled.
func (w *Walk) Stop() { panic("stub") }

// Stopping reports whether an unhandled failure or Stop closed the walk to new
// visits (but those of `when: failure|always`).
func (w *Walk) Stopping() bool { panic("stub") }

// Outcome tells whether the walk is done, and how it ended.
func (w *Walk) Outcome() Outcome { panic("stub") }

// Output returns the output of a node's latest settled visit.
func (w *Walk) Output(node string) (any, bool) { panic("stub") }

// Reset opens a failed or cancelled walk again. It fails with code
// "not_resumable" when the failure was decided by kept nodes alone.
func (w *Walk) Reset() (Reset, *Failure) { panic("stub") }

// ReplayReset applies a recorded reset.
func (w *Walk) ReplayReset(r Reset) error { panic("stub") }

// Reads returns which node outputs a node's input, foreach, `when` and outgoing
// conditions may read (through explicit references; `last` is not included).
func (p *Program) Reads(node int) []int { panic("stub") }

// Fingerprint is the hash of a node's compiled definition, its edges included:
// equal fingerprints in two versions mean that a recorded visit may be kept.
func (p *Program) Fingerprint(node int) string { panic("stub") }

// SyntaxError is a malformed condition or reference.
type SyntaxError struct {
	Message    string
	Suggestion string
	Column     int
}

func (e *SyntaxError) Error() string { return e.Message }
