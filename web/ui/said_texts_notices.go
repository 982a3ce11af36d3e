package ui

import (
	"github.com/kairosd/kairosd/web/locale"
)

// What every page says while something is wrong with the installation itself.
func init() {
	saidTexts = append(saidTexts,
		locale.Mark("Storage failed, and nothing is written any more: %s. kairosd is stopping; what was acknowledged is safe."),
		locale.Mark("Safe mode: %s. Everything can be looked at and cancelled; nothing is executed."),
		locale.Mark("kairosd was started with --safe"),
		locale.Mark("kairosd died %d times within %s, each time soon after its start"),
		locale.Mark("The configuration %s was not taken up at %s: %s. What was in force before stays in force."),
		locale.Mark("Maintenance since %s, by %s: %s. What runs finishes; no step starts."),
		locale.Mark("The examination of the database found a problem: %s. Run kairosd doctor."),
		locale.Mark("Something other than kairosd changed who may log in, or what waits for approval: %s. It grants nothing. Run kairosd doctor."),
		locale.Mark("the key file of this database was lost: all access was ended, and only a new administrator can release the runs"),
		locale.Mark("The clock of this machine was %s behind the newest record when kairosd started: timers and sessions may end late."),
		locale.Mark("The clock of this machine was put back by %s while kairosd runs. Timers keep to the time before, and what is recorded bears it, until kairosd is started again."),
		locale.Mark("Nothing is executed: %s. %s."),
		locale.Mark("this database is older than what was recorded of it"),
		locale.Mark("this database was restored from %s"),
		locale.Mark("%s, %d events after event %d are missing"),
		locale.Mark("1 run is held"),
		locale.Mark("%d runs are held"),
		locale.Mark("%s since a restore."),
		locale.Mark("The disk of the data directory is full: work waits until %d MiB are free. Old runs can be removed."),
		locale.Mark("The disk of the data directory has only %d MiB free."),
		locale.Mark("Look"),
		locale.Mark("Look and release"),
		locale.Mark("Remove old runs"),
	)
}
