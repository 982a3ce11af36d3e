package model

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/planner/walk"
)

// CodeCircuitOpen is the failure of a call that the provider's circuit refused: it
// was not made.
const CodeCircuitOpen = "provider_circuit_open"

// Judge tells what a call says of its server. A refusal, a limit or a wrong key is
// an answer of a server that works.
func Judge(err error) circuit.Verdict {
	if err == nil {
		return circuit.Well
	}
	if errors.Is(err, context.Canceled) {
		return circuit.Silent
	}
	f, ok := errors.AsType[*walk.Failure](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded), ok && f.Code == walk.CodeTimeout:
		return circuit.Unwell
	case !ok:
		return circuit.Silent
	case f.Code == walk.CodeCancelled:
		return circuit.Silent
	case (f.Code == CodeUnavailable || f.Code == CodeTruncated) && !f.Permanent:
		return circuit.Unwell
	case f.Code == CodeRateLimited,
		f.Code == CodeAuth,
		f.Code == CodeRejected,
		f.Code == CodeTooLong,
		f.Code == CodeMaxTokens,
		f.Code == CodeRefused:
		return circuit.Well
	}
	return circuit.Silent
}
