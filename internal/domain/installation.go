package domain

import "time"

// Installation is how a daemon and its data are.
type Installation struct {
	Version     string    `json:"version"`
	Instance    string    `json:"instance"` // fingerprint; see Backup
	Incarnation string    `json:"incarnation"`
	Epoch       int64     `json:"epoch"` // how often the database was opened for writing
	Schema      int64     `json:"schema"`
	Started     time.Time `json:"started"`
	Events      int64     `json:"events"` // newest audit event
	// Safe says why nothing is executed although nothing is held; empty: work goes on.
	Safe string `json:"safe,omitempty"`
	// Failed says why storage has stopped; LastFailure why the daemon before this
	// one stopped, if it was storage.
	Failed      string `json:"failed,omitempty"`
	LastFailure string `json:"lastFailure,omitempty"`

	// Maintenance says since when no step starts; nil: they do.
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	// Starts counts the daemon's starts in the last seven days; UncleanStarts those
	// of them that followed a death without a goodbye.
	Starts        int `json:"starts"`
	UncleanStarts int `json:"uncleanStarts"`
	// StartTimes are when, newest first.
	StartTimes []time.Time `json:"startTimes,omitempty"`

	// TakenUp counts runs that these starts found unfinished and went on with;
	// Undecided those that wait now for a person to say what happened.
	TakenUp   int64 `json:"takenUp"`
	Undecided int64 `json:"undecided"`
	// ConfigFile is the configuration file, empty for none, and ConfigSum the
	// SHA-256 of what was read of it.
	ConfigFile string `json:"configFile,omitempty"`
	ConfigSum  string `json:"configSum,omitempty"`
	// ConfigAt is when it was taken up: at the start, or later by SIGHUP. ConfigLater
	// names the keys of it that take effect at the next start, and ConfigError says
	// why the file as it is now is not in force; empty: it is.
	ConfigAt    time.Time `json:"configAt,omitzero"`
	ConfigLater []string  `json:"configLater,omitempty"`
	ConfigError string    `json:"configError,omitempty"`
	Host        string    `json:"host"`
	Clock       Clock     `json:"clock"`
	// Jobs are what the daemon does by itself.
	Jobs []Job `json:"jobs"`

	Hold *Hold `json:"hold,omitempty"`
	Held int64 `json:"held"` // runs that wait with reason held

	// CheckedAt is when all of the database was examined last; Finding is the
	// first problem that was found then, empty if there was none.
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	Finding   string    `json:"finding,omitempty"`

	Storage Storage `json:"storage"`
	// Tables is the storage per table of the database, largest first, as it was at
	// TablesAt; empty: it was not looked at yet.
	Tables   []TableStorage `json:"tables,omitempty"`
	TablesAt time.Time      `json:"tablesAt,omitzero"`
	// Plans is the storage per plan, largest first, as it was at PlansAt.
	Plans   []PlanStorage `json:"plans"`
	PlansAt time.Time     `json:"plansAt,omitzero"`
	// Backups lists what there is in the configured directory, newest first.
	Backups   []Backup `json:"backups"`
	BackupDir string   `json:"backupDir,omitempty"`
	// RestoreTest is the last time that the newest backup was read back and examined
	// as a restore does; nil: none was yet, but for the examination of each backup
	// when it is made.
	RestoreTest *RestoreTest `json:"restoreTest,omitempty"`
	// Retention says in words what is removed when.
	Retention []string `json:"retention"`
}

// RestoreTest is what came of a restore test.
type RestoreTest struct {
	At      time.Time `json:"at"`
	Backup  string    `json:"backup"`            // its file's name
	Problem string    `json:"problem,omitempty"` // why it cannot be restored
	// Encrypted says that it was only compared with what was written: the key that
	// decrypts it is not with the daemon.
	Encrypted bool `json:"encrypted,omitempty"`
}

// Clock is what the machine knows of its own clock.
type Clock struct {
	Known bool `json:"known"` // false: the system does not tell
	// Synced says that something keeps the clock right; it is then wrong by at most
	// Within.
	Synced bool          `json:"synced"`
	Within time.Duration `json:"withinNs,omitempty"`
	// Behind says that it was behind what was recorded when the daemon started.
	Behind string `json:"behind,omitempty"`
}

// Job is something that the daemon does by itself, again and again.
type Job struct {
	Name    string        `json:"name"`
	Every   time.Duration `json:"everyNs"`
	Running bool          `json:"running"`
	LastAt  time.Time     `json:"lastAt,omitzero"`
	Took    time.Duration `json:"tookNs,omitempty"`
	Error   string        `json:"error,omitempty"` // of the last time
	NextAt  time.Time     `json:"nextAt,omitzero"`
}

// DaemonLog is a line of the daemon's own log.
type DaemonLog struct {
	At      time.Time `json:"at"`
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
	PlanID string `json:"planId"`
	Plan   string `json:"plan"`
	Runs   int64  `json:"runs"`
	Purged int64  `json:"purged"` // of them, those whose journal was removed
	Rows   int64  `json:"rows"`   // of the journal
	Bytes  int64  `json:"bytes"`
}

// Notice is what every page says while it is so.
type Notice struct {
	Bad  bool    `json:"bad"` // else it is only worth knowing
	Text Message `json:"text"`
	Href string  `json:"href,omitempty"` // where something can be done about it
	Act  Message `json:"act,omitzero"`   // the label of the link
}
