package system

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// health builds the rows of the health page.
type health struct {
	c         *ui.Context
	v         domain.HealthMetrics
	server    domain.Server
	providers []domain.ProviderInfo
	tools     []domain.ToolInfo
	now       time.Time
	rows      []HealthMetric
}

func (h *health) add(state, name, value, limit string, trend []point, advice string) {
	m := HealthMetric{State: state, Name: name, Value: value, Limit: limit, Trends: sparks(trend, h.now), Advice: advice}
	h.rows = append(h.rows, m)
}

func (h *health) trend(pick func(domain.Sample) float64) []point { return sampled(h.v.Samples, pick) }

func (h *health) over(limit string) string { return h.c.T("over %s", limit) }

func (h *health) work() {
	h.add(
		vital.Grade(h.v.Lag.Duration(), lagHigh, lagBad),
		h.c.T("Timer lag"),
		vital.Span(h.v.Lag.Duration()),
		h.over(vital.Span(lagHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Lag) }),
		h.c.T("kairosd is short of CPU. Find other load on the machine, or lower engine.max_nodes."),
	)
	if h.v.Slots == 0 { // other programs execute the runs
		h.add("", h.c.T("Active runs"), h.c.Number(int64(h.v.Working)), "",
			h.trend(func(s domain.Sample) float64 { return float64(s.Working) }), "")
		return
	}
	h.add(
		all(h.v.Working, h.v.Slots),
		h.c.T("Active runs"),
		h.c.T("%s of %s", h.c.Number(int64(h.v.Working)), h.c.Number(int64(h.v.Slots))),
		h.c.T("all slots"),
		h.trend(func(s domain.Sample) float64 { return float64(s.Working) }),
		h.c.T("New runs queue until one ends. Raise engine.max_running if the machine has room."),
	)
	h.add(
		all(h.v.Nodes, h.v.NodeSlots),
		h.c.T("Active steps"),
		h.c.T("%s of %s", h.c.Number(int64(h.v.Nodes)), h.c.Number(int64(h.v.NodeSlots))),
		h.c.T("all slots"),
		h.trend(func(s domain.Sample) float64 { return float64(s.Running) }),
		h.c.T("Ready steps wait until one ends. Raise engine.max_nodes if the machine has room."),
	)
}

func (h *health) queue() {
	queued, state := h.c.Number(int64(h.v.Queued)), ""
	if h.v.Queued > 0 && !h.v.Oldest.IsZero() {
		waits := h.now.Sub(h.v.Oldest)
		queued, state = h.c.T("%s, the oldest for %s", queued, kit.ApproxDuration(waits)), vital.Grade(waits, waitHigh, waitBad)
	}
	h.add(state, h.c.T("Queued runs"), queued, h.over(kit.ApproxDuration(waitHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Queued) }),
		h.c.T("All slots are taken. Check what the active runs wait for, or raise engine.max_running if the machine has room."))
}

// commits adds the duration of checkpoint writes.
func (h *health) commits() {
	commits := h.c.T("none yet")
	if h.v.Commits.P50 > 0 {
		commits = fmt.Sprintf(
			"p50 %s · p95 %s · p99 %s",
			vital.Span(h.v.Commits.P50.Duration()),
			vital.Span(h.v.Commits.P95.Duration()),
			vital.Span(h.v.Commits.P99.Duration()),
		)
	}
	h.add(
		vital.Grade(h.v.Commits.P95.Duration(), vital.CommitHigh, vital.CommitBad),
		h.c.T("Checkpoint writes"),
		commits,
		"p95 "+h.over(vital.Span(vital.CommitHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Commit) }),
		h.c.T("The disk is slow or busy, and every step waits for it. Find what else writes to it."),
	)
}

// throughput adds the number of steps per minute.
func (h *health) throughput() {
	state := ""
	if h.v.Working > 0 && idle(h.v.Samples, h.now) > idleHigh {
		state = "need"
	}
	h.add(
		state,
		h.c.T("Steps per minute"),
		h.c.Number(last(h.v.Samples, h.now).Nodes),
		h.c.T("none for %s, with active runs", kit.ApproxDuration(idleHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Nodes) }),
		h.c.T("A tool or a provider may hang. Check the active runs, longest first."),
	)
}

// failures adds the failed runs.
func (h *health) failures() {
	failed, ended := failures(h.v.Samples, h.now)
	state := ""
	if failed > failedFew {
		state = vital.Grade(100*failed/max(ended, 1), failedHigh, failedBad)
	}
	h.add(
		state,
		h.c.T("Failed runs per minute"),
		h.c.T("%s; %s of %s in the last hour", h.c.Number(last(h.v.Samples, h.now).Failed), h.c.Number(failed), h.c.Number(ended)),
		h.c.T("over %s of finished runs", h.c.Display.Lang.Percent(failedHigh/100.)),
		h.trend(
			func(s domain.Sample) float64 { return float64(s.Failed) },
		),
		h.c.T("Home groups failures by cause, and resumes each group with one action."),
	)
}

func (h *health) disk() {
	state := ""
	size := vital.Bytes(h.c.Display.Lang, h.server.Storage.Database)
	if d := h.server.Storage; d.Disk > 0 {
		size, state = h.c.T(
			"%s, %s free on the disk",
			size,
			vital.Bytes(h.c.Display.Lang, d.Free),
		), vital.Grade(
			d.Disk/max(d.Free, 1),
			freeHigh,
			freeBad,
		)
	}
	h.add(
		state,
		h.c.T("Database"),
		size,
		h.c.T("less than %s free", h.c.Display.Lang.Percent(1.0/freeHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Database) }),
		h.c.T("Set or shorten retention, or move the data directory to a larger disk."),
	)
}

// growth adds the growth of the database, and the time when the disk will be full.
func (h *health) growth() {
	growth, state := h.c.T("not enough data yet"), ""
	if len(h.v.Samples) >= 30 {
		growth = h.c.T("%s a day", vital.Bytes(h.c.Display.Lang, h.v.GrowthPerDay))
	}
	if !h.v.FullAt.IsZero() {
		left := h.v.FullAt.Sub(h.now)
		growth = h.c.T("%s, full on %s, in %s", growth, h.v.FullAt.In(h.c.Display.Zone).Format(time.DateOnly), kit.ApproxDuration(left))
		if left < fullHigh {
			state = "need"
		}
		if left < fullBad {
			state = "fail"
		}
	}
	h.add(state, h.c.T("Database growth"), growth, h.c.T("full within %s", kit.ApproxDuration(fullHigh)), growths(h.v.Samples),
		h.c.T("Set or shorten retention, or move the data directory to a larger disk."))
}

// log adds the size of the write-ahead log and its last checkpoint.
func (h *health) log() {
	h.add(
		vital.Grade(h.server.Storage.WAL, vital.WALHigh, vital.WALBad),
		h.c.T("Write-ahead log"),
		vital.Bytes(h.c.Display.Lang, h.server.Storage.WAL),
		h.over(vital.Bytes(h.c.Display.Lang, vital.WALHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.WAL) }),
		h.c.T("A long read, such as a backup, keeps the log. It shrinks when the read ends."),
	)
	moved, state := h.c.T("not since the start"), ""
	if !h.server.Storage.MovedAt.IsZero() {
		moved = h.c.Ago(h.now.Sub(h.server.Storage.MovedAt))
		if h.now.Sub(h.server.Storage.MovedAt) > movedHigh && h.server.Storage.WAL > walUnmoved {
			state = "need"
		}
	}
	h.add(
		state,
		h.c.T("Last log checkpoint"),
		moved,
		h.c.T("over %s, with %s in the log", kit.ApproxDuration(movedHigh), vital.Bytes(h.c.Display.Lang, walUnmoved)),
		ages(h.now, h.server.Storage.MovedAt),
		h.c.T("A long read, such as a backup, blocks the checkpoint. It runs when the read ends."),
	)
}

func (h *health) backup() {
	state := ""
	backup := h.c.T("none")
	if len(h.server.Backups) > 0 {
		age := h.now.Sub(h.server.Backups[0].Created)
		backup, state = h.c.Ago(age), vital.Grade(age, vital.BackupHigh, vital.BackupBad)
	} else if h.server.BackupDir != "" {
		state = "need"
	}
	h.add(
		state,
		h.c.T("Last backup"),
		backup,
		h.over(kit.ApproxDuration(vital.BackupHigh)),
		ages(h.now, h.made()...),
		h.c.T("Set backup.every in the configuration, or back up now."),
	)
}

// made returns the creation times of the backups, newest first.
func (h *health) made() []time.Time {
	made := make([]time.Time, 0, len(h.server.Backups)+1)
	for _, b := range h.server.Backups {
		made = append(made, b.Created)
	}
	return made
}

// restoreTest adds the last test of a backup. When a backup is made, kairosd opens it as a database
// and verifies it before encrypting it. Every week, kairosd reads the newest backup again.
func (h *health) restoreTest() {
	var newest domain.Backup
	if len(h.server.Backups) > 0 {
		newest = h.server.Backups[0]
	}
	tests := h.made()
	test := h.server.RestoreTest
	if test != nil {
		tests = append(tests, test.At)
	}
	text, at := h.c.T("none"), time.Time{}
	switch {
	case test != nil && (test.Problem != "" || test.At.After(newest.Created)):
		at = test.At
		ago, name := h.c.Ago(h.now.Sub(at)), kit.Escape(test.Backup)
		switch {
		case test.Problem != "":
			text = h.c.T("%s: %s cannot be restored: %s", ago, name, kit.Escape(test.Problem))
		case test.Encrypted:
			text = h.c.T("%s: %s is unchanged. It is encrypted, so a full test requires its key", ago, name)
		default:
			text = h.c.T("%s: %s can be restored", ago, name)
		}
	case newest.Encryption != nil:
		at = newest.Created
		text = h.c.T("%s: verified, then encrypted", h.c.Ago(h.now.Sub(at)))
	case !newest.Created.IsZero():
		at = newest.Created
		text = h.c.T("%s: verified", h.c.Ago(h.now.Sub(at)))
	}
	state := ""
	if test != nil && test.Problem != "" {
		state = "fail"
	} else if !at.IsZero() {
		state = vital.Grade(h.now.Sub(at), restoreTestHigh, restoreTestBad)
	}
	h.add(
		state,
		h.c.T("Last restore test"),
		text,
		h.over(kit.ApproxDuration(restoreTestHigh)),
		ages(h.now, tests...),
		h.c.T("Back up again, and check the disk of the backups. kairosd restore --dry-run FILE shows the damage of a backup."),
	)
}

func (h *health) integrity() {
	examined, state := h.c.T("not since the start"), ""
	if !h.server.CheckedAt.IsZero() {
		age := h.now.Sub(h.server.CheckedAt)
		examined, state = h.c.Ago(age), vital.Grade(age, integrityCheckHigh, integrityCheckBad)
	}
	if h.server.Finding != "" {
		state = "fail"
	}
	h.add(
		state,
		h.c.T("Integrity check"),
		examined,
		h.over(kit.ApproxDuration(integrityCheckHigh)),
		ages(h.now, h.server.CheckedAt),
		h.c.T("Run kairosd doctor, and keep its output."),
	)
}

// starts adds the number of starts, of crashes, and of runs that the last start continued.
func (h *health) starts() {
	starts := h.c.Number(int64(h.server.Starts))
	if h.server.UncleanStarts > 0 {
		starts = h.c.T("%s, %s after a crash", starts, h.c.Number(int64(h.server.UncleanStarts)))
	}
	if h.server.Continued > 0 {
		starts += "; " + h.c.N(int(h.server.Continued), "%s run was resumed", "%s runs were resumed")
	}
	if h.server.Undecided > 0 {
		starts += "; " + h.c.N(int(h.server.Undecided), "%s waits for a decision", "%s wait for a decision")
	}
	state := vital.Grade(h.server.Starts, startsHigh, startsBad)
	if state == "" && h.server.UncleanStarts > 0 {
		state = "need"
	}
	h.add(
		state,
		h.c.T("Starts in the last 7 days"),
		starts,
		h.c.T("over %s, or any after a crash", h.c.Number(startsHigh)),
		ages(h.now, h.server.StartTimes...),
		h.c.T("The audit log records each start. The daemon log records the reason of each stop."),
	)
}

// modelProviders adds the state of the model providers, if any are configured.
func (h *health) modelProviders() {
	if len(h.providers) == 0 {
		return
	}
	state, bad := "", []string{}
	for _, p := range h.providers {
		if p.Trouble() {
			bad = append(bad, kit.Escape(p.Name))
		}
	}
	text := h.c.T("no failures")
	if len(bad) > 0 {
		state, text = "need", h.c.T(
			"%s of %s fail: %s",
			h.c.Number(int64(len(bad))),
			h.c.Number(int64(len(h.providers))),
			strings.Join(bad, ", "),
		)
	}
	h.add(
		state,
		h.c.T("Model providers"),
		text,
		h.c.T("any failing"),
		h.trend(func(s domain.Sample) float64 { return float64(s.Providers) }),
		h.c.T("The page of each provider, under Agents, shows its error."),
	)
}

// circuits adds the circuits of tools and hosts, if any tool has a circuit breaker.
func (h *health) circuits() {
	if !slices.ContainsFunc(h.tools, func(t domain.ToolInfo) bool { return t.Breaker != nil }) {
		return
	}
	open, _ := domain.OpenCircuits(h.tools, "")
	state, text := "", h.c.T("all closed")
	if len(open) > 0 {
		names := make([]string, 0, kit.CircuitList+1)
		for _, circuit := range open[:min(len(open), kit.CircuitList)] {
			names = append(names, kit.CircuitOf(circuit.Tool, circuit.Part))
		}
		if n := len(open) - kit.CircuitList; n > 0 {
			names = append(names, h.c.N(n, "%s more", "%s more"))
		}
		state, text = "need", h.c.N(len(open), "%s is open: %s", "%s are open: %s", strings.Join(names, ", "))
	}
	h.add(
		state,
		h.c.T("Circuits of tools and hosts"),
		text,
		h.c.T("any open"),
		h.trend(func(s domain.Sample) float64 { return float64(s.Circuits) }),
		h.c.T("The page of each tool shows the reason and the end. A bulk operation can wait for the end."),
	)
}

// clock adds the synchronization of the system clock.
func (h *health) clock() {
	clock, state := h.c.T("unknown"), ""
	switch {
	case h.server.Clock.Behind != "":
		clock, state = kit.Escape(h.server.Clock.Behind), "fail"
	case h.server.Clock.Known && h.server.Clock.Synced:
		clock, state = h.c.T(
			"synchronized within %s",
			vital.Span(h.server.Clock.Within.Duration()),
		), vital.Grade(
			h.server.Clock.Within.Duration(),
			clockHigh,
			clockBad,
		)
	case h.server.Clock.Known:
		clock, state = h.c.T("not synchronized"), "need"
	}
	h.add(
		state,
		h.c.T("Clock"),
		clock,
		h.over(vital.Span(clockHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Clock) }),
		h.c.T("Synchronize the machine with a time server. Timers, sessions, and schedules use this clock."),
	)
}

// process adds memory, goroutines, and event streams.
func (h *health) process() {
	h.add(
		vital.Grade(h.v.Memory, memoryHigh, memoryBad),
		h.c.T("Memory"),
		vital.Bytes(h.c.Display.Lang, h.v.Memory),
		h.over(vital.Bytes(h.c.Display.Lang, memoryHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Memory) }),
		h.c.T("Find runs with large values, or lower engine.max_nodes so that kairosd holds fewer of them."),
	)
	h.add(
		vital.Grade(h.v.Goroutines, routinesHigh, 5*routinesHigh),
		h.c.T("Goroutines"),
		h.c.Number(int64(h.v.Goroutines)),
		h.over(h.c.Number(routinesHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Goroutines) }),
		h.c.T("Active steps and open pages need a few each. If the number grows without them, keep the daemon log and restart kairosd."),
	)
	h.add(
		vital.Grade(h.v.Listeners, streamsHigh, 10*streamsHigh),
		h.c.T("Live streams"),
		h.c.Number(int64(h.v.Listeners)),
		h.over(h.c.Number(streamsHigh)),
		h.trend(func(s domain.Sample) float64 { return float64(s.Listeners) }),
		h.c.T("The audit log shows who logs in. A program that waits for one run can request only that run."),
	)
}
