package step

import "github.com/kairosd/kairosd/web/kit"

// StepPage is the page of one step.
type StepPage struct {
	kit.Shell
	Crumbs    kit.Crumbs
	RunHref   string
	Inspector Inspector
}
