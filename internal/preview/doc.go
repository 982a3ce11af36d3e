// Package preview computes what an action on a run would do: resume, rerun, fork, cancel,
// and the others. The engine performs an action with the same code, so a preview cannot
// disagree with what follows. It also predicts where answers to an approval lead, and
// reads damaged journals.
//
// Everything here is computed from a View: a run, its compiled plan, and its folded
// journal. The package has no goroutines and no store.
package preview
