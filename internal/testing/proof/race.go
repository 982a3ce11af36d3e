//go:build race

package proof

// slower is the factor by which the race detector slows down the proofs.
const slower = 8
