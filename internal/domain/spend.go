package domain

import "time"

// Spend is what the calls of a model used in a period that begins at From, for a plan and by an agent.
// An empty agent or model was not recorded.
type Spend struct {
	From    time.Time `json:"from"`
	PlanKey string    `json:"plan"`
	Agent   string    `json:"agent"`
	Model   string    `json:"model"`
	Calls   int64     `json:"calls"`
	Usage   Usage     `json:"usage"`
}
