package runs

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// StepsPage is the search of steps across runs.
type StepsPage struct {
	kit.Shell
	Query, Sort       string
	Chips             []kit.Link
	Error, Suggestion string
	Rows              []part.StepHit
	Count, Older      string
	ByTook, ByRun     string
}
