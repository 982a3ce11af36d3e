package kairos

import "time"

// Settings are what the configuration says, as people read it: never a secret.
type Settings struct {
	// File is the configuration file; empty: there is none, and defaults hold.
	File string `json:"file,omitempty"`
	// Access says how people and programs come in.
	Access []Setting `json:"access"`
	// Effective is everything that the file sets, and what holds where it is silent.
	Effective []Setting         `json:"effective"`
	Retention RetentionSettings `json:"retention"`
	Secrets   []SecretInfo      `json:"secrets"`
	// Notifications are the ways in which people are told.
	Notifications []ChannelInfo `json:"notifications"`
}

// Setting is one value of the configuration.
type Setting struct {
	Key   string `json:"key" doc:"Its place in the configuration file."`
	Value string `json:"value"`
	// Origin says where the value comes from.
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
	Hosts  []string `json:"hosts" doc:"The hosts that may be told it."`
	// ChangedAt is when the file was last written; zero for the environment.
	ChangedAt time.Time `json:"changedAt,omitzero"`
}
