package domain

import (
	"fmt"
	"time"
)

// StartStage is a stage of the daemon's start. It is an English text that pages translate.
type StartStage string

// Stages of a start, in order. Stages of an upgrade occur only if the database has an older schema.
const (
	StartOpening    StartStage = "opening the database"
	StartChecking   StartStage = "checking the database before its upgrade"
	StartEncrypting StartStage = "encrypting the kept copy of the previous database"
	StartCopying    StartStage = "copying the database"
	StartMigrating  StartStage = "migration"
	StartVerifying  StartStage = "verifying the upgraded database"
	StartTools      StartStage = "starting tools and models"
	StartRuns       StartStage = "loading unfinished runs"
)

// Startup is the progress of a daemon that does not serve yet.
type Startup struct {
	Since time.Time
	Stage StartStage
	// Step is the position within the stage, such as 3 of 5 migrations. Of is 0 if the stage has no
	// steps.
	Step, Of int
	// Percent is the progress of the stage, 0 to 100. It is negative if unknown.
	Percent int
}

// String returns the progress as text: "migration 3 of 5, 40%".
func (s Startup) String() string {
	text := string(s.Stage)
	if s.Of > 0 {
		text += fmt.Sprintf(" %d of %d", s.Step, s.Of)
	}
	if s.Percent >= 0 {
		text += fmt.Sprintf(", %d%%", s.Percent)
	}
	return text
}

// StartRetryAfter is the time that a client waits before it tries a starting daemon again.
const StartRetryAfter = 2 * time.Second
