package core

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kairosd/kairosd/internal/domain"
)

// MaxFindings is the maximum number of problems that one check lists.
const MaxFindings = 100

// Printable makes text with parts of damaged rows readable: it replaces invalid UTF-8 and control
// characters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// Find adds a problem and reports whether the check is full.
func Find(c *domain.Check, format string, args ...any) bool {
	if len(c.Problems) < MaxFindings {
		c.Problems = append(c.Problems, Printable(fmt.Sprintf(format, args...)))
	}
	return len(c.Problems) >= MaxFindings
}

// MaxFoundRuns is the maximum number of runs that one check names.
const MaxFoundRuns = 10_000

// FindOf adds a problem of a run. It adds the run even if the list of problems is full.
func FindOf(c *domain.Check, run, format string, args ...any) {
	Find(c, format, args...)
	if n := len(c.Runs); n < MaxFoundRuns && (n == 0 || c.Runs[n-1] != run) { // the problems of one run are consecutive
		c.Runs = append(c.Runs, run)
	}
}

// VerifyRows is the number of rows that a verification reads at a time.
const VerifyRows = 10_000
