// Package preview computes the effect of actions on a run: resume, rerun, fork, cancel, and the
// others. The engine performs an action with the same code, so that a preview always matches its
// effect. The package also predicts the steps after each answer to an approval, and reads damaged
// journals.
//
// It computes everything from a View: a run, its compiled plan, and its folded journal. It has no
// goroutines and no store.
package preview
