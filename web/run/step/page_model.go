package step

import "github.com/kairosd/kairosd/web/kit"

// StepPage is one step as a page of its own.
type StepPage struct {
	kit.Shell
	Way       kit.Crumbs
	RunHref   string
	Inspector Inspector
}
