package runs

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// StepsPage is the model of the step search.
type StepsPage struct {
	kit.Shell
	Query, Sort       string
	Chips             []kit.Link
	Error, Suggestion string
	Rows              []part.StepHit
	Count, Older      string
	ByTook, ByRun     string
}
