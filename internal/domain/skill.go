package domain

import "time"

// SkillRun is a measurement of a skill, which planners use for estimates.
type SkillRun struct {
	Skill string
	// Bound is the tool or agent of the skill.
	Bound string
	// Time is the duration of the successful attempt.
	Time time.Duration
	// Tokens is the number of input and output tokens of all attempts.
	Tokens int64
	At     time.Time
}

// SkillMedians holds medians over the runs of a skill with one tool or agent.
type SkillMedians struct {
	// Runs is the number of measured runs, at most [MaxSkillRuns].
	Runs   int
	Time   time.Duration
	Tokens int64
}

// MaxSkillRuns is the number of newest runs that are kept per skill.
const MaxSkillRuns = 101
