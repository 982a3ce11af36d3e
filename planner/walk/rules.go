package walk

import "slices"

// End is the target of an edge that ends its branch. Documents and decisions call it [EndName].
const End = -1

// EndName is the name of [End].
const EndName = "$end"

// ErrorRule is a compiled rule of on_error about failures with certain codes.
type ErrorRule struct {
	Codes []string // empty: any
	// MaxAttempts and Backoff replace those of the node after such a failure. If MaxAttempts is 0, the
	// rule does not change retries.
	MaxAttempts int
	Backoff     Backoff
	// Edge is the position in Out of the edge that is taken after the last attempt, or -1. OnError is
	// what happens instead. If there is neither, a later rule decides.
	Edge    int
	OnError OnError
}

// Matches reports whether the rule is about failures with a code.
func (r *ErrorRule) Matches(code string) bool {
	return len(r.Codes) == 0 || slices.Contains(r.Codes, code)
}

// decides reports whether the rule defines what follows the last attempt.
func (r *ErrorRule) decides() bool { return r.Edge >= 0 || r.OnError != "" }

// Retries returns the number of attempts after a failure with a code, and the waits between them: those
// of the first rule that has them, or else of the node.
func (n *ProgramNode) Retries(code string) (attempts int, waits Backoff) {
	for i := range n.Rules {
		if r := &n.Rules[i]; r.MaxAttempts > 0 && r.Matches(code) {
			return r.MaxAttempts, r.Backoff
		}
	}
	return n.MaxAttempts, n.Backoff
}

// MostAttempts returns the largest number of attempts that a failure can lead to.
func (n *ProgramNode) MostAttempts() int {
	most := n.MaxAttempts
	for i := range n.Rules {
		most = max(most, n.Rules[i].MaxAttempts)
	}
	return most
}

// AfterFailure returns what a failure leads to after the last attempt: the position in Out of an edge,
// or -1 and an OnError. Edges of the document come first, then the rules in order, then OnError.
func (n *ProgramNode) AfterFailure(f *Failure) (edge int, on OnError) {
	code := codeOfFailure(f)
	if i := slices.IndexFunc(n.Out, func(e ProgramEdge) bool { return !e.Rule && e.Cond.Catches(code) }); i >= 0 {
		return i, ""
	}
	return n.ruled(code)
}

// ContinuesItem reports whether an item of a foreach that failed counts as handled by on_error: continue.
func (n *ProgramNode) ContinuesItem(f *Failure) bool {
	edge, on := n.ruled(codeOfFailure(f))
	return edge < 0 && on == OnErrorContinue
}

// ruled is AfterFailure without edges of the document.
func (n *ProgramNode) ruled(code string) (edge int, on OnError) {
	for i := range n.Rules {
		if r := &n.Rules[i]; r.decides() && r.Matches(code) {
			return r.Edge, r.OnError
		}
	}
	return -1, n.OnError
}

// Replans reports whether some failure of the node may request a new plan.
func (n *ProgramNode) Replans() bool {
	return n.OnError == OnErrorReplan || slices.ContainsFunc(n.Rules, func(r ErrorRule) bool { return r.OnError == OnErrorReplan })
}

func codeOfFailure(f *Failure) string {
	if f == nil {
		return CodeFailed
	}
	return f.Code
}

// Target is the ID of the node that an edge leads to, or [EndName].
func (p *Program) Target(e ProgramEdge) string {
	if e.To == End {
		return EndName
	}
	return p.Nodes[e.To].ID
}
