package domain

import "time"

// HealthMetrics is how a daemon is doing now, and how it did over the last day.
type HealthMetrics struct {
	At time.Time `json:"measuredAt"`
	// Lag is how late the process's timers fire: the 95th percentile of the last
	// five minutes.
	Lag Millis `json:"lagMs"`

	Working   int       `json:"working"` // runs that hold a slot
	Slots     int       `json:"slots"`
	Nodes     int       `json:"nodes"` // nodes that run
	NodeSlots int       `json:"nodeSlots"`
	Queued    int       `json:"queued"`
	Oldest    time.Time `json:"oldestQueuedAt,omitzero"` // the queued run that waits longest

	Commits CommitMetrics `json:"commits"`

	// GrowthPerDay is how fast the database grows, in bytes, from the samples of
	// the last day; FullAt is when the disk is full if that continues. Zero: it
	// does not grow, or it is too early to say.
	GrowthPerDay int64     `json:"growthPerDay"`
	FullAt       time.Time `json:"fullAt,omitzero"`

	Memory     int64 `json:"memory"` // bytes that the process got from the system
	Goroutines int   `json:"goroutines"`
	Listeners  int   `json:"listeners"` // live streams that are open

	// Samples are a minute apart, oldest first, at most a day's.
	Samples []Sample `json:"samples"`
}

// CommitMetrics are the durations of the transactions that make checkpoints
// durable, over the last five minutes with any.
type CommitMetrics struct {
	P50 Millis `json:"p50Ms"`
	P95 Millis `json:"p95Ms"`
	P99 Millis `json:"p99Ms"`
	// PerMinute counts transactions, Writes what they made durable, in the last
	// full minute.
	PerMinute int64 `json:"perMinute"`
	Writes    int64 `json:"writes"`
}

// Sample is one minute of a daemon's life.
type Sample struct {
	At       time.Time `json:"measuredAt"` // its end
	Created  int64     `json:"createdRuns"`
	Ended    int64     `json:"endedRuns"`
	Failed   int64     `json:"failedRuns"` // of the ended
	Nodes    int64     `json:"nodes"`      // attempts that ended
	Commit   Millis    `json:"commitMs"`
	Lag      Millis    `json:"lagMs"`
	Working  int       `json:"working"`
	Running  int       `json:"running"` // nodes that hold a slot
	Queued   int       `json:"queued"`
	Memory   int64     `json:"memory"`
	Database int64     `json:"database"`
	WAL      int64     `json:"wal"` // of Database
	// Goroutines and Listeners are those at its end.
	Goroutines int `json:"goroutines"`
	Listeners  int `json:"listeners"`
	// Providers are in trouble, Circuits of tools and hosts are open.
	Providers int `json:"providers"`
	Circuits  int `json:"circuits"`
	// Clock is by how much the machine's clock may be wrong.
	Clock Millis `json:"clockMs"`
}
