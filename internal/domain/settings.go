package domain

import "time"

// Settings is the configuration for people. It never contains secrets.
type Settings struct {
	// File is the configuration file. It is empty if there is none, and the defaults apply.
	File string `json:"file,omitempty"`
	// Access describes authentication.
	Access []Setting `json:"access"`
	// Effective holds all settings, including defaults.
	Effective []Setting         `json:"effective"`
	Retention RetentionSettings `json:"retention"`
	Secrets   []SecretInfo      `json:"secrets"`
	// Notifications are the notification channels.
	Notifications []ChannelInfo `json:"notifications"`
}

// Setting is a value of the configuration.
type Setting struct {
	Key   string `json:"key" doc:"Its place in the configuration file."`
	Value string `json:"value"`
	// Origin is the source of the value.
	Origin string `json:"origin" enum:"file,environment,default,command line"`
}

// RetentionSettings describes the retention rules.
type RetentionSettings struct {
	Rules   []RetentionRow `json:"rules" doc:"The first is for all plans without one of their own."`
	Audit   Millis         `json:"auditMs,omitzero" doc:"How long audit events are kept, in milliseconds; absent: forever."`
	MaxSize int64          `json:"maxSize,omitempty" doc:"The largest size of the database in bytes; absent: no limit."`
	Every   Millis         `json:"everyMs" doc:"The time between passes, in milliseconds."`
}

// RetentionRow is a retention rule. An absent field means no limit.
type RetentionRow struct {
	Plan      string `json:"plan,omitempty" doc:"The key of the plan; absent: all plans without a rule of their own."`
	Completed Millis `json:"completedMs,omitzero" doc:"How long completed runs are kept, in milliseconds; absent: forever."`
	Failed    Millis `json:"failedMs,omitzero" doc:"How long failed runs are kept, in milliseconds; absent: forever."`
	Cancelled Millis `json:"cancelledMs,omitzero" doc:"How long cancelled runs are kept, in milliseconds; absent: forever."`
	Keep      int64  `json:"keep,omitempty"`
}

// SecretInfo describes a secret, without its value.
type SecretInfo struct {
	Name   string   `json:"name"`
	Source string   `json:"source" doc:"The environment variable or file that holds it."`
	Tools  []string `json:"tools" doc:"The tools that can use it."`
	Hosts  []string `json:"hosts" doc:"The hosts that can receive it."`
	// ChangedAt is the modification time of the file. It is zero for an environment variable.
	ChangedAt time.Time `json:"changedAt,omitzero"`
	// LoadedAt is the time at which the active value was read. It is zero for a secret of kairosd
	// itself, which is read at the start.
	LoadedAt time.Time `json:"loadedAt,omitzero"`
	// Plans are plans whose newest version uses the secret, at most MaxSecretPlans.
	Plans []string `json:"plans"`
	// UsedBy lists the parts of the configuration with the same secret.
	UsedBy []SecretUse `json:"usedBy"`
	// Rotates reports that a new value can be applied without a restart. Pending reports that the
	// file is newer than the active value.
	Rotates bool `json:"rotates"`
	Pending bool `json:"pending"`
}

// SecretUse is a part of the configuration that uses a secret.
type SecretUse struct {
	Kind string `json:"kind" enum:"provider,mcp,channel,login,telemetry"`
	Name string `json:"name"`
}

// MaxSecretPlans limits the number of plans per secret.
const MaxSecretPlans = 20
