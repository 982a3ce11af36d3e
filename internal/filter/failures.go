package filter

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
)

// Failures returns the query for the runs of a failure group.
func Failures(g domain.FailureRef) string {
	q := fmt.Sprintf("plan:%s step:%s error:%s", Quote(g.PlanKey), Quote(g.Node), Quote(g.Code))
	if g.Fingerprint != "" {
		q += " fingerprint:" + g.Fingerprint
	}
	return q
}

// FailuresToHandle returns the query for the runs of a failure group that need attention.
func FailuresToHandle(g domain.FailureRef) string {
	return "status:failed is:attention " + Failures(g)
}
