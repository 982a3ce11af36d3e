package system

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/config"
)

// SystemPage is the model of the health page and of the storage page.
type SystemPage struct {
	kit.Shell
	// Hold is the reason why all runs are held. It is empty if they are not.
	Hold       string
	Held       string // such as "3 runs are held"; empty if none
	HeldHref   string
	CanRelease bool
	// Maintenance states who started maintenance, and when. It is empty if maintenance is off.
	Maintenance string
	CanMaintain bool
	Health      []kit.Fact
	State       kit.Status // state of the daemon
	// Attention are the metrics above their thresholds, the worst first. Healthy are the others,
	// and Normal is their number as text.
	Attention, Healthy []HealthMetric
	Normal             string
	Storage            []Figure
	Plans              []PlanStorage
	PlansAt            kit.Time
	Backups            []BackupRow
	BackupDir          string
	Encrypted          bool // at least one backup is encrypted
	CanBackUp          bool
	Retention          []string
	Idem               string
	Parts              []kit.Link
	Tables             []TableRow
	TablesAt           kit.Time
	Would              string // estimate of what retention would free now; empty if unknown
}

// JobsPage is the model of the page about background jobs.
type JobsPage struct {
	kit.Shell
	Parts []kit.Link
	Jobs  []JobRow
}

// Figure is a value with its title and a remark.
type Figure struct{ Title, Value, Remark string }

// TableRow contains the size of a database table and its indexes.
type TableRow struct{ Name, Size, Index string }

// JobRow is a background job.
type JobRow struct {
	Name, Every, Took, Error string
	State                    kit.Status
	Last, Next               kit.Time
}

// SystemLogPage is the model of the page with the newest lines of the daemon log.
type SystemLogPage struct {
	kit.Shell
	Parts  []kit.Link
	Levels []kit.Option
	Query  string
	Text   string
	Lines  []DaemonLine
}

// DaemonLine is a line of the daemon log.
type DaemonLine struct {
	At                 kit.Time
	Level, Text, Facts string
	Role               string // color role: fail, need, or empty
}

// SystemConfigPage is the model of the page with the active configuration.
type SystemConfigPage struct {
	kit.Shell
	Parts    []kit.Link
	Source   string
	Facts    []kit.Fact
	Settings []config.Row
}

// PlanStorage is the storage used by the runs of a plan.
type PlanStorage struct {
	Plan, Href         string
	Runs, Rows, Purged string
	Size               string
}

type BackupRow struct {
	Name    string
	Created kit.Time
	Size    string
	Event   string
	Runs    string
}
