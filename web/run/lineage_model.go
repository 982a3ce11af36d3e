package run

import "github.com/kairosd/kairosd/web/kit"

// LineagePage is the family of a run.
type LineagePage struct {
	kit.Shell
	Run   kit.Link
	Plan  string
	Roots []LineageNode
	More  string
}

// LineageNode is a run and what came from it.
type LineageNode struct {
	Run      kit.Link
	How      string // how it came from the run above
	Status   kit.Status
	At       kit.Time
	Headline string
	Compare  string
	Below    []LineageNode
}
