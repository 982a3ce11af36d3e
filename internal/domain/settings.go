package domain

import "time"

// Settings are the configuration as people read it: never a secret.
type Settings struct {
	// File is the configuration file; empty: there is none, and defaults hold.
	File string `json:"file,omitempty"`
	// Access states how people and programs come in.
	Access []Setting `json:"access"`
	// Effective is everything that the file sets, and what holds where it is silent.
	Effective []Setting         `json:"effective"`
	Retention RetentionSettings `json:"retention"`
	Secrets   []SecretInfo      `json:"secrets"`
	// Notifications are the ways in which people are notified.
	Notifications []ChannelInfo `json:"notifications"`
}

// Setting is one value of the configuration.
type Setting struct {
	Key   string `json:"key" doc:"Its place in the configuration file."`
	Value string `json:"value"`
	// Origin states where the value comes from.
	Origin string `json:"origin" enum:"file,environment,default,command line"`
}

// RetentionSettings are how long things are kept.
type RetentionSettings struct {
	Rules   []RetentionRow `json:"rules" doc:"The first is for all plans without one of their own."`
	Audit   string         `json:"audit,omitempty" doc:"How long audit events are kept; absent: for ever."`
	MaxSize string         `json:"maxSize,omitempty"`
	Every   string         `json:"every"`
}

// RetentionRow is a rule; what is absent is kept for ever.
type RetentionRow struct {
	Plan      string `json:"plan,omitempty"`
	Completed string `json:"completed,omitempty"`
	Failed    string `json:"failed,omitempty"`
	Cancelled string `json:"cancelled,omitempty"`
	Keep      int64  `json:"keep,omitempty"`
}

// SecretInfo is a secret by its name: never its value.
type SecretInfo struct {
	Name   string   `json:"name"`
	Source string   `json:"source" doc:"The environment variable or file that holds it."`
	Tools  []string `json:"tools" doc:"The tools that may be given it."`
	Hosts  []string `json:"hosts" doc:"The hosts that may get it."`
	// ChangedAt is when the file was last written; zero for the environment.
	ChangedAt time.Time `json:"changedAt,omitzero"`
	// TakenAt is when the value in use was read; zero for what only kairosd itself
	// uses, which reads it at its start.
	TakenAt time.Time `json:"takenAt,omitzero"`
	// Plans name it in their newest version; at most MaxSecretPlans are listed.
	Plans []string `json:"plans"`
	// UsedBy are the parts of the configuration that hold the same secret.
	UsedBy []SecretUse `json:"usedBy"`
	// Rotates reports that a new value can be picked up without a restart, and
	// Pending that the file was written since it was read.
	Rotates bool `json:"rotates"`
	Pending bool `json:"pending"`
}

// SecretUse is a part of the configuration that a secret belongs to.
type SecretUse struct {
	Kind string `json:"kind" enum:"provider,mcp,channel,login,telemetry"`
	Name string `json:"name"`
}

// MaxSecretPlans is how many plans are listed of those that name a secret.
const MaxSecretPlans = 20
