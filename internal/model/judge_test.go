package model_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/planner/walk"
)

// Only failures of the server count against it (L07). Rate limits, wrong keys, and refusals are
// answers. A cancelled call counts as neither.
func TestACallReportsTheStateOfItsServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want circuit.Verdict
	}{
		{nil, circuit.Well},
		{&walk.Failure{Code: model.CodeUnavailable}, circuit.Unwell},
		{&walk.Failure{Code: model.CodeTruncated}, circuit.Unwell},
		{fmt.Errorf("ask: %w", context.DeadlineExceeded), circuit.Unwell},
		{&walk.Failure{Code: walk.CodeTimeout}, circuit.Unwell},
		{&walk.Failure{Code: model.CodeUnavailable, Permanent: true}, circuit.Silent}, // a redirect that is rejected
		{&walk.Failure{Code: model.CodeRateLimited}, circuit.Well},
		{&walk.Failure{Code: model.CodeAuth, Permanent: true}, circuit.Well},
		{&walk.Failure{Code: model.CodeRejected, Permanent: true}, circuit.Well},
		{&walk.Failure{Code: model.CodeMaxTokens, Permanent: true}, circuit.Well},
		{context.Canceled, circuit.Silent},
		{&walk.Failure{Code: walk.CodeCancelled}, circuit.Silent},
		{errors.New("whatever"), circuit.Silent},
	} {
		if got := model.Judge(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
