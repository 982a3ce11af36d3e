package model

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/planner/walk"
)

// CodeCircuitOpen is the failure code of a call that was not made because the provider's circuit
// was open.
const CodeCircuitOpen = "provider_circuit_open"

// Judge decides what the result of a call means for its server's circuit. A refusal, a rate limit,
// or an invalid key is an answer of a working server.
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
