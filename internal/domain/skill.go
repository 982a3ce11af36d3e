package domain

import "time"

// SkillRun is what a skill took when it was done: what planners estimate with.
type SkillRun struct {
	Skill string
	// Bound is the tool or agent that did it.
	Bound string
	// Time is that of the attempt which completed it.
	Time time.Duration
	// Tokens of all its attempts, in and out.
	Tokens int64
	At     time.Time
}

// SkillMedians are medians over the runs of a skill by what it is bound to.
type SkillMedians struct {
	// Runs is how many are known: the newest ones, at most [MaxSkillRuns].
	Runs   int
	Time   time.Duration
	Tokens int64
}

// MaxSkillRuns is how many runs of a skill are kept.
const MaxSkillRuns = 101
