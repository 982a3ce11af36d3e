package domain

import "time"

// Spend is the usage of a model by an agent of a plan, in a period that begins at From. An empty
// agent or model was not recorded.
type Spend struct {
	From    time.Time `json:"from"`
	PlanKey string    `json:"plan"`
	Agent   string    `json:"agent"`
	Model   string    `json:"model"`
	Calls   int64     `json:"calls"`
	Usage   Usage     `json:"usage"`
}
