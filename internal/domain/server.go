package domain

import "time"

// Server is the status of a running server and its data. Its parts are embedded, so that its JSON
// is one object.
type Server struct {
	Version    string    `json:"version"`
	Instance   string    `json:"instance"` // fingerprint; see Backup
	Generation string    `json:"generation"`
	OpenCount  int64     `json:"openCount"` // number of times that the database was opened for writing
	Schema     int64     `json:"schema"`
	Started    time.Time `json:"startedAt"`
	Events     int64     `json:"events"` // newest audit event
	Host       string    `json:"host"`
	Clock      Clock     `json:"clock"`
	// Jobs are the periodic jobs of the server.
	Jobs []Job `json:"jobs"`

	// Safe is the reason why no step starts in safe mode. It is empty if steps run.
	Safe string `json:"safe,omitempty"`
	// Failed is the reason why storage has stopped. LastFailure is the storage failure that stopped
	// the previous process, if any.
	Failed      string `json:"failed,omitempty"`
	LastFailure string `json:"lastFailure,omitempty"`
	// Maintenance is set while no step starts.
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	Hold        *Hold        `json:"hold,omitempty"`
	Held        int64        `json:"held"` // runs that wait with reason held

	// Workers are the workers that execute the runs. It is nil if the server executes them itself.
	Workers *Workers `json:"workers,omitempty"`

	// CheckedAt is the time of the last integrity check. Finding is the first problem that it
	// found, or empty.
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	Finding   string    `json:"finding,omitempty"`

	ServerStarts
	ServerConfig
	ServerStorage
	ServerBackups
}

// ServerStarts are the starts of the server in the last seven days.
type ServerStarts struct {
	Starts int `json:"starts"`
	// UncleanStarts counts the starts after a crash.
	UncleanStarts int `json:"uncleanStarts"`
	// StartTimes are the times of the starts, newest first.
	StartTimes []time.Time `json:"startTimes,omitempty"`
	// Continued is the number of unfinished runs that these starts continued. Undecided is the
	// number of these runs that still wait for a person to resolve a step in doubt.
	Continued int64 `json:"continued"`
	Undecided int64 `json:"undecided"`
}

// ServerConfig is the state of the configuration file.
type ServerConfig struct {
	// ConfigFile is the path of the configuration file, or empty. ConfigSum is the SHA-256 of the
	// active content.
	ConfigFile string `json:"configFile,omitempty"`
	ConfigSum  string `json:"configSum,omitempty"`
	// ConfigAt is the time at which it was applied, at the start or by SIGHUP. ConfigLater lists
	// the changed keys that require a restart. ConfigError is the reason why the current content of
	// the file is not active, or empty.
	ConfigAt    time.Time `json:"configAt,omitzero"`
	ConfigLater []string  `json:"configLater,omitempty"`
	ConfigError string    `json:"configError,omitempty"`
}

// ServerStorage describes the disk space that the server uses.
type ServerStorage struct {
	Storage Storage `json:"storage"`
	// Tables is the storage per table of the database, largest first, measured at TablesAt. It is
	// empty until the first measurement.
	Tables   []TableStorage `json:"tables,omitempty"`
	TablesAt time.Time      `json:"tablesAt,omitzero"`
	// Plans is the storage per plan, largest first, measured at PlansAt.
	Plans   []PlanStorage `json:"plans"`
	PlansAt time.Time     `json:"plansAt,omitzero"`
}

// ServerBackups describes the backups of the server, and its retention rules.
type ServerBackups struct {
	// Backups lists the files of the configured directory, newest first.
	Backups   []Backup `json:"backups"`
	BackupDir string   `json:"backupDir,omitempty"`
	// RestoreTest is the last restore test of the newest backup. Nil means that there was none. A
	// check when the backup is made does not count.
	RestoreTest *RestoreTest `json:"restoreTest,omitempty"`
	// Retention describes the retention rules, one per line.
	Retention []string `json:"retention"`
}

// RestoreTest is the result of a restore test.
type RestoreTest struct {
	At      time.Time `json:"testedAt"`
	Backup  string    `json:"backup"`            // name of the backup file
	Problem string    `json:"problem,omitempty"` // the reason why it cannot be restored
	// Encrypted reports that the backup was only compared with its checksum, because the server
	// does not have the key to decrypt it.
	Encrypted bool `json:"encrypted,omitempty"`
}

// Clock is the status of the system clock.
type Clock struct {
	Known bool `json:"known"` // false if the operating system does not report it
	// Synced reports that the clock is synchronized. Its error is then at most Within.
	Synced bool   `json:"synced"`
	Within Millis `json:"uncertaintyMs,omitempty"`
	// Behind is set if the clock was behind the newest record when the daemon started.
	Behind string `json:"behind,omitempty"`
}

// Job is a periodic job of the daemon.
type Job struct {
	Name    string    `json:"name"`
	Every   Millis    `json:"intervalMs"`
	Running bool      `json:"running"`
	LastAt  time.Time `json:"lastAt,omitzero"`
	Took    Millis    `json:"durationMs,omitempty"`
	Error   string    `json:"error,omitempty"` // of the last execution
	NextAt  time.Time `json:"nextAt,omitzero"`
}

// DaemonLog is a line of the daemon's log.
type DaemonLog struct {
	At      time.Time `json:"loggedAt"`
	Level   string    `json:"level"`
	Message string    `json:"message"`
	// Facts are the other attributes of the line, as JSON.
	Facts string `json:"attributes,omitempty"`
}

// TableStorage is the storage of a table, including its indexes.
type TableStorage struct {
	Table string `json:"table"`
	Bytes int64  `json:"bytes"`
	Index int64  `json:"index"` // of Bytes
}

// Maintenance describes a time during which no step starts.
type Maintenance struct {
	Since  time.Time `json:"startedAt"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// PlanStorage is the storage of the runs of a plan. Bytes is an estimate for the journal, and exact
// for large values.
type PlanStorage struct {
	Plan   PlanRef `json:"plan"`
	Runs   int64   `json:"runs"`
	Purged int64   `json:"purged"` // runs whose journal was deleted
	Rows   int64   `json:"rows"`   // of the journals
	Bytes  int64   `json:"bytes"`
}

// Notice is a message that every page shows while it applies.
type Notice struct {
	Bad    bool    `json:"bad"` // false means information only
	Text   Message `json:"text"`
	Href   string  `json:"href,omitempty"` // page with a solution
	Action Message `json:"act,omitzero"`   // the label of the link
}
