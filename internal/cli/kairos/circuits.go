package kairos

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
)

// circuitNote is where a circuit stands, on one line.
func circuitNote(c domain.Circuit) string {
	var b strings.Builder
	if c.Part != "" {
		b.WriteString(cli.FirstLine(c.Part) + ": ")
	}
	switch c.State {
	case domain.CircuitOpen:
		fmt.Fprintf(&b, "not called until %s: ", cli.Stamp(c.OpenUntil))
	case domain.CircuitHalfOpen:
		b.WriteString("the next call is a trial: ")
	}
	if c.FailuresInRow == 1 {
		b.WriteString("the last call has failed")
	} else {
		fmt.Fprintf(&b, "%d calls in a row have failed", c.FailuresInRow)
	}
	if c.LastError != "" {
		fmt.Fprintf(&b, ", last %s: %s", cli.Stamp(c.LastErrorAt), cli.FirstLine(c.LastError))
	}
	return b.String()
}

// breakerNote is when a circuit opens.
func breakerNote(b domain.Breaker) string {
	of := ""
	if b.PerHost {
		of = ", each host by itself"
	}
	if b.Failures < 0 {
		return "does not open by itself" + of
	}
	return fmt.Sprintf("opens after %d failures in a row, for %s at first%s", b.Failures, b.Rest, of)
}
