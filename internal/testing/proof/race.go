//go:build race

package proof

// slower is by how much the race detector slows the proofs down.
const slower = 8
