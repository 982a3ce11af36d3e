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

// Large returns the size of proofs. 0 is the small size of a normal test run.
func Large() int {
	n, err := strconv.Atoi(os.Getenv("KAIROS_PROOF"))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Size returns the number of cases to try. It is smaller with the race detector.
func Size(quick, large int) int {
	if n := Large(); n > 0 {
		return large * n
	}
	return max(1, quick/slower)
}

// Step returns the distance between tested cases, for a test that can try every case. It is 1 in a
// large proof.
func Step(quick int) int {
	if Large() > 0 {
		return 1
	}
	return quick * slower
}

// Seed returns the seed of a test, with which a failure can be reproduced.
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

// Figure records a count for the score card.
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

// Dir returns a directory for files that are written very often and need no disk: in memory if the
// machine supports that, or else a usual temporary directory.
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
