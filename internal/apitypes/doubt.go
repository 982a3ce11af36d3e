package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Doubt is an attempt in doubt: its outcome is unknown, for example after a crash or a lost
// connection.
type Doubt struct {
	Run            string            `json:"run" doc:"The run's id."`
	Plan           domain.PlanRef    `json:"plan"`
	Node           string            `json:"node" doc:"The step."`
	Visit          int               `json:"visit" doc:"The iteration of the step."`
	Item           int               `json:"item" doc:"The index in a foreach; -1: none."`
	Attempt        int               `json:"attempt" doc:"The attempt that is in doubt."`
	Seq            int64             `json:"seq" doc:"The number of its first checkpoint."`
	IdempotencyKey string            `json:"idempotencyKey,omitempty" doc:"The key that the attempt sent."`
	Input          domain.RawJSON    `json:"input,omitempty" doc:"The input of the attempt."`
	StartedAt      time.Time         `json:"startedAt"`
	Calls          []domain.OpenCall `json:"calls,omitempty" doc:"The calls whose outcome is unknown; absent: the step itself is the call."`
}

// DoubtOf returns an attempt in doubt as the API sends it.
func DoubtOf(d domain.Doubt) Doubt { return Doubt(d) }
