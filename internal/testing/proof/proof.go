// Package proof sizes the tests that prove what kairosd promises, seeds
// them, and collects what they counted.
//
//	KAIROS_PROOF=N    run them large, N times as large as the smallest large run
//	KAIROS_SEED=N     begin with this seed; every failure names the one it had
//	KAIROS_FIGURES=F  append what was counted to a file
package proof

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Large is how large proofs are to run; 0 is the quick slice of every test run.
func Large() int {
	n, err := strconv.Atoi(os.Getenv("KAIROS_PROOF"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Size is the number of cases to try; fewer with the race detector.
func Size(quick, large int) int {
	if n := Large(); n > 0 {
		return large * n
	}
	return max(1, quick/slower)
}

// Step is the distance between the cases of a test that can try them all: 1 in
// a large proof.
func Step(quick int) int {
	if Large() > 0 {
		return 1
	}
	return quick * slower
}

// Seed is the seed of a test; with it a failure can be had again.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	seed := uint64(1)
	if text := os.Getenv("KAIROS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			tb.Fatalf("KAIROS_SEED=%s is not a number", text)
		}
		seed = n
	}
	return seed
}

// Figure notes a count that the score card adds up.
func Figure(tb testing.TB, name string, n int) {
	tb.Helper()
	tb.Logf("%s: %d", name, n)
	path := os.Getenv("KAIROS_FIGURES")
	if path == "" || tb.Failed() {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%s\t%d\n", name, n); err != nil {
		tb.Fatal(err)
	}
}

// Dir is a directory for files that are written very often and need no disk:
// in memory where the machine offers that, else a usual temporary one.
func Dir(tb testing.TB) string {
	tb.Helper()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "kairos-proof-"); err == nil {
			tb.Cleanup(func() {
				if err := os.RemoveAll(dir); err != nil {
					tb.Error(err)
				}
			})
			return dir
		}
	}
	return tb.TempDir()
}
