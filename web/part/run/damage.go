package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
)

// Damaged says which part of a run's own row is damaged.
var Damaged = map[domain.RunPart]string{
	domain.PartDetails: locale.Mark("What this run was started with is damaged"), domain.PartInput: locale.Mark("The input of this run is damaged"),
	domain.PartOutput: locale.Mark("The output of this run is damaged"), domain.PartLimits: locale.Mark("The limits of this run are damaged"),
	domain.PartLabels: locale.Mark("The labels of this run are damaged"), domain.PartParent: locale.Mark("What this run says of its parent is damaged"),
	domain.PartConcurrency: locale.Mark("The concurrency key of this run is damaged"),
}
