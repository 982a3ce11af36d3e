package domain

import "time"

// HealthMetrics describes the health of a daemon now and during the last day.
type HealthMetrics struct {
	At time.Time `json:"measuredAt"`
	// Lag is the delay of the process's timers: the 95th percentile of the last five minutes.
	Lag Millis `json:"lagMs"`

	Working   int       `json:"working"` // runs that hold a slot
	Slots     int       `json:"slots"`   // 0: no limit, because other programs execute the runs
	Nodes     int       `json:"nodes"`   // nodes that run
	NodeSlots int       `json:"nodeSlots"`
	Queued    int       `json:"queued"`
	Oldest    time.Time `json:"oldestQueuedAt,omitzero"` // the queued run that waits longest

	Commits CommitMetrics `json:"commits"`

	// GrowthPerDay is the growth of the database in bytes, computed from the samples of the last
	// day. FullAt is the time at which the disk is full at this rate. Zero means that it does not
	// grow, or that there are too few samples.
	GrowthPerDay int64     `json:"growthPerDay"`
	FullAt       time.Time `json:"fullAt,omitzero"`

	Memory     int64 `json:"memory"` // bytes obtained from the operating system
	Goroutines int   `json:"goroutines"`
	Listeners  int   `json:"listeners"` // open live streams

	// Samples of one minute each, oldest first, at most one day.
	Samples []Sample `json:"samples"`
}

// CommitMetrics describes the transactions that commit checkpoints, over the last five minutes with
// a commit.
type CommitMetrics struct {
	P50 Millis `json:"p50Ms"`
	P95 Millis `json:"p95Ms"`
	P99 Millis `json:"p99Ms"`
	// PerMinute is the number of transactions in the last full minute, and Writes the number of
	// writes in them.
	PerMinute int64 `json:"perMinute"`
	Writes    int64 `json:"writes"`
}

// Sample describes one minute of a daemon.
type Sample struct {
	At       time.Time `json:"measuredAt"` // its end
	Created  int64     `json:"createdRuns"`
	Ended    int64     `json:"endedRuns"`
	Failed   int64     `json:"failedRuns"` // of the ended runs
	Nodes    int64     `json:"nodes"`      // attempts that ended
	Commit   Millis    `json:"commitMs"`
	Lag      Millis    `json:"lagMs"`
	Working  int       `json:"working"`
	Running  int       `json:"running"` // nodes that hold a slot
	Queued   int       `json:"queued"`
	Memory   int64     `json:"memory"`
	Database int64     `json:"database"`
	WAL      int64     `json:"wal"` // of Database
	// Goroutines and Listeners are the numbers at the end of the minute.
	Goroutines int `json:"goroutines"`
	Listeners  int `json:"listeners"`
	// Providers is the number of providers in trouble, and Circuits the number of open circuits of
	// tools and hosts.
	Providers int `json:"providers"`
	Circuits  int `json:"circuits"`
	// Clock is the maximum error of the system clock.
	Clock Millis `json:"clockMs"`
}
