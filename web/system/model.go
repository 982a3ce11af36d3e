package system

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/config"
)

// SystemPage shows how the daemon and its data are.
type SystemPage struct {
	kit.Shell
	// Hold, if not empty, is why nothing is executed; it can be released here.
	Hold       string
	Held       string // "3 runs are held"; empty: none
	HeldHref   string
	CanRelease bool
	// Maintenance, if not empty, shows since when no step starts, and by whom.
	Maintenance string
	CanMaintain bool
	Health      []kit.Fact
	State       kit.Status // of the daemon
	// Attention are the metrics beyond their thresholds, the worst first; Healthy are the
	// others, which Normal counts.
	Attention, Healthy []HealthMetric
	Normal             string
	Storage            []Figure
	Plans              []PlanStorage
	PlansAt            kit.Time
	Backups            []BackupRow
	BackupDir          string
	Encrypted          bool // a backup is
	CanBackUp          bool
	Retention          []string
	Idem               string
	Parts              []kit.Link
	Tables             []TableRow
	TablesAt           kit.Time
	Would              string // what retention would free now; empty: unknown
}

// JobsPage lists the background jobs of the daemon.
type JobsPage struct {
	kit.Shell
	Parts []kit.Link
	Jobs  []JobRow
}

// Figure is a number with its title, and what it is a part of.
type Figure struct{ Title, Value, Remark string }

// TableRow is what a table of the database takes.
type TableRow struct{ Name, Size, Index string }

// JobRow is a background job of the daemon.
type JobRow struct {
	Name, Every, Took, Error string
	State                    kit.Status
	Last, Next               kit.Time
}

// SystemLogPage is the end of the daemon's own log.
type SystemLogPage struct {
	kit.Shell
	Parts  []kit.Link
	Levels []kit.Option
	Query  string
	Text   string
	Lines  []DaemonLine
}

// DaemonLine is a line of the daemon's log.
type DaemonLine struct {
	At                 kit.Time
	Level, Text, Facts string
	Role               string // fail, need, or empty
}

// SystemConfigPage is what the daemon goes by.
type SystemConfigPage struct {
	kit.Shell
	Parts    []kit.Link
	Source   string
	Facts    []kit.Fact
	Settings []config.Row
}

// PlanStorage is what the runs of a plan take.
type PlanStorage struct {
	Plan, Href         string
	Runs, Rows, Purged string
	Size               string
}

// BackupRow is a backup.
type BackupRow struct {
	Name    string
	Created kit.Time
	Size    string
	Event   string
	Runs    string
}
