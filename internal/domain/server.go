package domain

import "time"

// Server is the status of a running server and its data. Its parts are embedded, so that its JSON is
// one object.
type Server struct {
	Version    string    `json:"version"`
	Instance   string    `json:"instance"` // fingerprint; see Backup
	Generation string    `json:"incarnation"`
	OpenCount  int64     `json:"epoch"` // how often the database was opened for writing
	Schema     int64     `json:"schema"`
	Started    time.Time `json:"startedAt"`
	Events     int64     `json:"events"` // newest audit event
	Host       string    `json:"host"`
	Clock      Clock     `json:"clock"`
	// Jobs are the periodic jobs of the server.
	Jobs []Job `json:"jobs"`

	// Safe is the reason why nothing is executed although nothing is held; empty: steps run.
	Safe string `json:"safe,omitempty"`
	// Failed is the reason why storage has stopped; LastFailure why the server before this
	// one stopped, if it was storage.
	Failed      string `json:"failed,omitempty"`
	LastFailure string `json:"lastFailure,omitempty"`
	// Maintenance is set while no step starts.
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	Hold        *Hold        `json:"hold,omitempty"`
	Held        int64        `json:"held"` // runs that wait with reason held

	// CheckedAt is the time of the last integrity check; Finding is the
	// first problem that it found, empty if there was none.
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
	// TakenUp counts unfinished runs that these starts continued; Undecided those of
	// them that still wait for a person to resolve a step in doubt.
	TakenUp   int64 `json:"takenUp"`
	Undecided int64 `json:"undecided"`
}

// ServerConfig is the state of the configuration file.
type ServerConfig struct {
	// ConfigFile is the configuration file, empty for none, and ConfigSum the
	// SHA-256 of its active content.
	ConfigFile string `json:"configFile,omitempty"`
	ConfigSum  string `json:"configSum,omitempty"`
	// ConfigAt is the time when it was applied: at the start, or later by SIGHUP. ConfigLater
	// names the keys of it that take effect at the next start. ConfigError is the reason why the
	// present content of the file is not active; empty: it is.
	ConfigAt    time.Time `json:"configAt,omitzero"`
	ConfigLater []string  `json:"configLater,omitempty"`
	ConfigError string    `json:"configError,omitempty"`
}

// ServerStorage is the storage that the data of the server takes.
type ServerStorage struct {
	Storage Storage `json:"storage"`
	// Tables is the storage per table of the database, largest first, measured at
	// TablesAt; empty: not measured yet.
	Tables   []TableStorage `json:"tables,omitempty"`
	TablesAt time.Time      `json:"tablesAt,omitzero"`
	// Plans is the storage per plan, largest first, measured at PlansAt.
	Plans   []PlanStorage `json:"plans"`
	PlansAt time.Time     `json:"plansAt,omitzero"`
}

// ServerBackups are the backups of the server, and its rules of retention.
type ServerBackups struct {
	// Backups lists the files of the configured directory, newest first.
	Backups   []Backup `json:"backups"`
	BackupDir string   `json:"backupDir,omitempty"`
	// RestoreTest is the last time that the newest backup was read back and checked
	// as a restore does; nil: never, apart from the check of each backup
	// when it is made.
	RestoreTest *RestoreTest `json:"restoreTest,omitempty"`
	// Retention describes the rules, a line each.
	Retention []string `json:"retention"`
}

// RestoreTest is the result of a restore test.
type RestoreTest struct {
	At      time.Time `json:"testedAt"`
	Backup  string    `json:"backup"`            // its file's name
	Problem string    `json:"problem,omitempty"` // why it cannot be restored
	// Encrypted reports that it was only compared with what was written: the key that
	// decrypts it is not with the daemon.
	Encrypted bool `json:"encrypted,omitempty"`
}

// Clock is what the machine reports about its own clock.
type Clock struct {
	Known bool `json:"known"` // false: the system does not tell
	// Synced reports that something keeps the clock right; it is then wrong by at most
	// Within.
	Synced bool   `json:"synced"`
	Within Millis `json:"uncertaintyMs,omitempty"`
	// Behind reports that it was behind what was recorded when the daemon started.
	Behind string `json:"behind,omitempty"`
}

// Job is something that the daemon does automatically, again and again.
type Job struct {
	Name    string    `json:"name"`
	Every   Millis    `json:"intervalMs"`
	Running bool      `json:"running"`
	LastAt  time.Time `json:"lastAt,omitzero"`
	Took    Millis    `json:"durationMs,omitempty"`
	Error   string    `json:"error,omitempty"` // of the last time
	NextAt  time.Time `json:"nextAt,omitzero"`
}

// DaemonLog is a line of the daemon's own log.
type DaemonLog struct {
	At      time.Time `json:"loggedAt"`
	Level   string    `json:"level"`
	Message string    `json:"message"`
	// Facts are the rest of the line, as JSON.
	Facts string `json:"facts,omitempty"`
}

// TableStorage is what a table takes, its indexes included.
type TableStorage struct {
	Table string `json:"table"`
	Bytes int64  `json:"bytes"`
	Index int64  `json:"index"` // of Bytes
}

// Maintenance is a time in which no step of any run starts.
type Maintenance struct {
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// PlanStorage is what the runs of one plan take. Bytes are estimated for the
// journal and counted for large values.
type PlanStorage struct {
	Plan   PlanRef `json:"plan"`
	Runs   int64   `json:"runs"`
	Purged int64   `json:"purged"` // of them, those whose journal was removed
	Rows   int64   `json:"rows"`   // of the journal
	Bytes  int64   `json:"bytes"`
}

// Notice is shown on every page while it holds.
type Notice struct {
	Bad  bool    `json:"bad"` // else it is only worth knowing
	Text Message `json:"text"`
	Href string  `json:"href,omitempty"` // where something can be done about it
	Act  Message `json:"act,omitzero"`   // the label of the link
}
