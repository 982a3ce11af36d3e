package handoff

import (
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/web/kit"
)

const (
	// maxLanes is the maximum number of agents with a lane.
	maxLanes = 8
	laneGap  = 160
	rowGap   = 44
	headGap  = 34
	// shownName and shownReason are the maximum lengths of texts.
	shownName   = 20
	shownReason = 26
)

// Pass is a handoff from one agent to another.
type Pass struct {
	From, To, Reason, Href, Label string
	Refused, Back, Open, Chosen   bool
}

// Sequence is a sequence diagram with one lane per agent and one arrow per handoff, from top to
// bottom.
type Sequence struct {
	Width, Height string
	Lanes         []Lane
	Arrows        []Arrow
	Left          int // number of handoffs without an arrow, because an agent has no lane
}

// Lane is the lane of an agent.
type Lane struct{ X, Name string }

// Arrow is one handoff. Cross marks a rejected one.
type Arrow struct {
	Class, Line, Tip, Cross string
	X, Y, Text              string
	Href, Label             string
}

// Draw draws handoffs.
func Draw(list []Pass) Sequence {
	var names []string
	lane := func(name string) int {
		i := slices.Index(names, name)
		if i < 0 && len(names) < maxLanes {
			names = append(names, name)
			i = len(names) - 1
		}
		return i
	}
	var s Sequence
	for _, p := range list {
		from, to := lane(p.From), lane(p.To)
		if from < 0 || to < 0 {
			s.Left++
			continue
		}
		s.Arrows = append(s.Arrows, arrow(p, laneX(from), laneX(to), headGap+rowGap*len(s.Arrows)+30))
	}
	for i, name := range names {
		s.Lanes = append(s.Lanes, Lane{strconv.Itoa(laneX(i)), kit.Truncate(name, shownName)})
	}
	s.Width, s.Height = strconv.Itoa(laneGap*len(names)), strconv.Itoa(headGap+rowGap*len(s.Arrows)+12)
	return s
}

func laneX(i int) int { return i*laneGap + laneGap/2 }

// arrow draws a handoff at height y. A handoff to the same agent is a loop.
func arrow(p Pass, from, to, y int) Arrow {
	a := Arrow{Class: "pass", Href: p.Href, Label: p.Label, Text: kit.Truncate(p.Reason, shownReason), Y: strconv.Itoa(y - 7)}
	for class, is := range map[string]bool{"refused": p.Refused, "open": p.Open, "back": p.Back} {
		if is {
			a.Class = "pass " + class
		}
	}
	if p.Chosen {
		a.Class += " sel"
	}
	n := strconv.Itoa
	side := 1
	if to < from {
		side = -1
	}
	if from == to {
		a.Line = "M" + n(from) + " " + n(y-6) + "h28v12h-22"
		a.Tip, a.X = "M"+n(from+1)+" "+n(y+6)+"l7 -4v8z", n(from+74)
		if p.Refused {
			a.Tip, a.Cross = "", cross(from+28, y)
		}
		return a
	}
	a.X = n((from + to) / 2)
	a.Line, a.Tip = "M"+n(from)+" "+n(y)+"H"+n(to-7*side), "M"+n(to-side)+" "+n(y)+"l"+n(-7*side)+" -4v8z"
	if p.Refused {
		a.Tip, a.Cross = "", cross(to-14*side, y)
	}
	return a
}

// cross returns the path of a cross, for a rejected handoff.
func cross(x, y int) string {
	return "M" + strconv.Itoa(x-4) + " " + strconv.Itoa(y-4) + "l8 8m0 -8l-8 8"
}
