// Package inspect reads stored runs. It folds their journals, describes them, predicts the effect
// of actions, and recovers what it can from damaged journals. It writes nothing.
package inspect
