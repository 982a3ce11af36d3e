package domain

import (
	"fmt"
	"time"
)

// StartStage is what a daemon does before it serves. The words are English and
// for people; pages translate them.
type StartStage string

// The stages of a start, in their order. Those of an upgrade are only there when
// the database has an older schema.
const (
	StartOpening    StartStage = "opening the database"
	StartExamining  StartStage = "examining the database before its upgrade"
	StartEncrypting StartStage = "encrypting what is kept of the database from before"
	StartCopying    StartStage = "copying the database"
	StartMigrating  StartStage = "migration"
	StartVerifying  StartStage = "verifying the upgraded database"
	StartTools      StartStage = "starting tools and models"
	StartRuns       StartStage = "loading unfinished runs"
)

// Startup is how far a daemon is that has begun and does not serve yet.
type Startup struct {
	Since time.Time
	Stage StartStage
	// Step counts within the stage from 1: the third of five migrations. Of is 0
	// where nothing is counted.
	Step, Of int
	// Percent of the stage that is done, 0 to 100; negative: it is unknown.
	Percent int
}

// String is the start in words: "migration 3 of 5, 40%".
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

// StartRetryAfter is how long a client of a starting daemon is to wait.
const StartRetryAfter = 2 * time.Second
