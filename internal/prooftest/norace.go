//go:build !race

package prooftest

const slower = 1
