// Package inspect reads stored runs: it folds their journals, describes them, predicts
// what actions on them would do, and makes what it can of journals that are damaged. It
// writes nothing.
package inspect
