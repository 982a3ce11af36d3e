package system

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/vital"
	"github.com/kairosd/kairosd/web/ui"
)

// limits beyond which a health metric needs attention, and alarms.
const (
	lagHigh, lagBad                       = 100 * time.Millisecond, time.Second
	memoryHigh, memoryBad                 = 1 << 30, 4 << 30
	routinesHigh                          = 20_000
	streamsHigh                           = 1000
	restoreTestHigh, restoreTestBad       = 9 * 24 * time.Hour, 30 * 24 * time.Hour
	freeHigh, freeBad                     = 20, 100 // the disk's size over what is free of it
	waitHigh, waitBad                     = time.Minute, 15 * time.Minute
	fullHigh, fullBad                     = 30 * 24 * time.Hour, 3 * 24 * time.Hour
	startsHigh, startsBad                 = 10, 50
	clockHigh, clockBad                   = time.Second, time.Minute
	integrityCheckHigh, integrityCheckBad = 8 * 24 * time.Hour, 30 * 24 * time.Hour
	failedHigh, failedBad                 = 10, 50 // percent of the runs that ended in failedWithin
	failedWithin                          = time.Hour
	failedFew                             = 5                // too few failures for a figure
	idleHigh                              = 15 * time.Minute // no step ends, though runs are at work
	movedHigh                             = time.Hour        // and more than walUnmoved waits
	walUnmoved                            = 64 << 20
)

// sorted splits metrics into those that need attention, the worst first, and the others.
func sorted(all []HealthMetric) (attention, healthy []HealthMetric) {
	for _, m := range all {
		if m.State == "" {
			healthy = append(healthy, m)
		} else {
			attention = append(attention, m)
		}
	}
	slices.SortStableFunc(attention, func(a, b HealthMetric) int { return strings.Compare(a.State, b.State) })
	return attention, healthy
}

// mark is the status of a metric, as a shape and a word.
func (m HealthMetric) mark() kit.Status {
	switch m.State {
	case "fail":
		return kit.Word("fail", "i-fail", locale.Mark("bad:"), false)
	case "need":
		return kit.Word("need", "i-need", locale.Mark("high:"), false)
	}
	return kit.Word("ok", "i-ok", locale.Mark("OK:"), false)
}

// healthMetrics are the rows of the System page: the current value, its threshold, its trend, and what to do.
func (s *section) healthMetrics(
	c *ui.Context,
	v domain.HealthMetrics,
	i domain.Server,
	providers []domain.ProviderInfo,
	tools []domain.ToolInfo,
) []HealthMetric {
	now := v.At
	trend := func(pick func(domain.Sample) float64) []point { return sampled(v.Samples, pick) }
	var out []HealthMetric
	add := func(state, name, value, limit string, trend []point, advice string) {
		out = append(out, HealthMetric{State: state, Name: name, Value: value, Limit: limit, Trends: sparks(trend, now), Advice: advice})
	}
	over := func(limit string) string { return c.T("over %s", limit) }

	add(
		vital.Grade(v.Lag.Duration(), lagHigh, lagBad),
		c.T("Timer lag"),
		vital.Span(v.Lag.Duration()),
		over(vital.Span(lagHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Lag) }),
		c.T("kairosd is short of CPU. Find other load on the machine, or lower engine.max_nodes."),
	)
	add(
		all(v.Working, v.Slots),
		c.T("Active runs"),
		c.T("%s of %s", c.Number(int64(v.Working)), c.Number(int64(v.Slots))),
		c.T("all slots"),
		trend(func(s domain.Sample) float64 { return float64(s.Working) }),
		c.T("New runs queue until one ends. Raise engine.max_running if the machine has room."),
	)
	add(
		all(v.Nodes, v.NodeSlots),
		c.T("Active steps"),
		c.T("%s of %s", c.Number(int64(v.Nodes)), c.Number(int64(v.NodeSlots))),
		c.T("all slots"),
		trend(func(s domain.Sample) float64 { return float64(s.Running) }),
		c.T("Ready steps wait until one ends. Raise engine.max_nodes if the machine has room."),
	)
	queued, state := c.Number(int64(v.Queued)), ""
	if v.Queued > 0 && !v.Oldest.IsZero() {
		waits := now.Sub(v.Oldest)
		queued, state = c.T("%s, the oldest for %s", queued, kit.About(waits)), vital.Grade(waits, waitHigh, waitBad)
	}
	add(state, c.T("Queued runs"), queued, over(kit.About(waitHigh)), trend(func(s domain.Sample) float64 { return float64(s.Queued) }),
		c.T("All slots are taken. Check what the active runs wait for, or raise engine.max_running if the machine has room."))
	commits := c.T("none yet")
	if v.Commits.P50 > 0 {
		commits = fmt.Sprintf(
			"p50 %s · p95 %s · p99 %s",
			vital.Span(v.Commits.P50.Duration()),
			vital.Span(v.Commits.P95.Duration()),
			vital.Span(v.Commits.P99.Duration()),
		)
	}
	add(
		vital.Grade(v.Commits.P95.Duration(), vital.CommitHigh, vital.CommitBad),
		c.T("Checkpoint writes"),
		commits,
		"p95 "+over(vital.Span(vital.CommitHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Commit) }),
		c.T("The disk is slow or busy, and every step waits for it. Find what else writes to it."),
	)
	state = ""
	if v.Working > 0 && idle(v.Samples, now) > idleHigh {
		state = "need"
	}
	add(
		state,
		c.T("Steps per minute"),
		c.Number(last(v.Samples, now).Nodes),
		c.T("none for %s, with active runs", kit.About(idleHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Nodes) }),
		c.T("A tool or a provider may hang. Check the active runs, longest first."),
	)
	failed, ended := failures(v.Samples, now)
	state = ""
	if failed > failedFew {
		state = vital.Grade(100*failed/max(ended, 1), failedHigh, failedBad)
	}
	add(
		state,
		c.T("Failed runs per minute"),
		c.T("%s; %s of %s in the last hour", c.Number(last(v.Samples, now).Failed), c.Number(failed), c.Number(ended)),
		c.T("over %s of finished runs", c.Display.Lang.Percent(failedHigh/100.)),
		trend(
			func(s domain.Sample) float64 { return float64(s.Failed) },
		),
		c.T("Home groups failures by cause, and resumes each group with one action."),
	)
	state = ""
	size := vital.Bytes(c.Display.Lang, i.Storage.Database)
	if d := i.Storage; d.Disk > 0 {
		size, state = c.T(
			"%s, %s free on the disk",
			size,
			vital.Bytes(c.Display.Lang, d.Free),
		), vital.Grade(
			d.Disk/max(d.Free, 1),
			freeHigh,
			freeBad,
		)
	}
	add(
		state,
		c.T("Database"),
		size,
		c.T("less than %s free", c.Display.Lang.Percent(1.0/freeHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Database) }),
		c.T("Set or shorten retention, or move the data directory to a larger disk."),
	)
	growth, state := c.T("not enough data yet"), ""
	if len(v.Samples) >= 30 {
		growth = c.T("%s a day", vital.Bytes(c.Display.Lang, v.GrowthPerDay))
	}
	if !v.FullAt.IsZero() {
		left := v.FullAt.Sub(now)
		growth = c.T("%s, full on %s, in %s", growth, v.FullAt.In(c.Display.Zone).Format(time.DateOnly), kit.About(left))
		if left < fullHigh {
			state = "need"
		}
		if left < fullBad {
			state = "fail"
		}
	}
	add(state, c.T("Database growth"), growth, c.T("full within %s", kit.About(fullHigh)), growths(v.Samples),
		c.T("Set or shorten retention, or move the data directory to a larger disk."))
	add(
		vital.Grade(i.Storage.WAL, vital.WALHigh, vital.WALBad),
		c.T("Write-ahead log"),
		vital.Bytes(c.Display.Lang, i.Storage.WAL),
		over(vital.Bytes(c.Display.Lang, vital.WALHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.WAL) }),
		c.T("A long read, such as a backup, keeps the log. It shrinks when the read ends."),
	)
	moved, state := c.T("not since the start"), ""
	if !i.Storage.MovedAt.IsZero() {
		moved = c.Ago(now.Sub(i.Storage.MovedAt))
		if now.Sub(i.Storage.MovedAt) > movedHigh && i.Storage.WAL > walUnmoved {
			state = "need"
		}
	}
	add(
		state,
		c.T("Last log checkpoint"),
		moved,
		c.T("over %s, with %s in the log", kit.About(movedHigh), vital.Bytes(c.Display.Lang, walUnmoved)),
		ages(now, i.Storage.MovedAt),
		c.T("A long read, such as a backup, blocks the checkpoint. It runs when the read ends."),
	)
	state = ""
	backup := c.T("none")
	made := make([]time.Time, 0, len(i.Backups))
	for _, b := range i.Backups {
		made = append(made, b.Created)
	}
	if len(i.Backups) > 0 {
		age := now.Sub(i.Backups[0].Created)
		backup, state = c.Ago(age), vital.Grade(age, vital.BackupHigh, vital.BackupBad)
	} else if i.BackupDir != "" {
		state = "need"
	}
	add(
		state,
		c.T("Last backup"),
		backup,
		over(kit.About(vital.BackupHigh)),
		ages(now, made...),
		c.T("Set backup.every in the configuration, or back up now."),
	)
	// Each backup is opened as a database and verified when it is made, before it is
	// encrypted; the newest is read back again every week.
	tested, state, testedAt := c.T("none"), "", made
	if i.RestoreTest != nil {
		testedAt = append(testedAt, i.RestoreTest.At)
	}
	switch t := i.RestoreTest; {
	case t != nil && t.Problem != "":
		tested, state = c.T("%s: %s cannot be restored: %s", c.Ago(now.Sub(t.At)), kit.Visible(t.Backup), kit.Visible(t.Problem)), "fail"
	case t != nil && t.Encrypted && (len(i.Backups) == 0 || t.At.After(i.Backups[0].Created)):
		tested, state = c.T(
			"%s: %s is unchanged. It is encrypted, so a full test requires its key",
			c.Ago(now.Sub(t.At)),
			kit.Visible(t.Backup),
		), vital.Grade(
			now.Sub(t.At),
			restoreTestHigh,
			restoreTestBad,
		)
	case t != nil && (len(i.Backups) == 0 || t.At.After(i.Backups[0].Created)):
		tested, state = c.T(
			"%s: %s can be restored",
			c.Ago(now.Sub(t.At)),
			kit.Visible(t.Backup),
		), vital.Grade(
			now.Sub(t.At),
			restoreTestHigh,
			restoreTestBad,
		)
	case len(i.Backups) > 0 && i.Backups[0].Encryption != nil:
		tested, state = c.T(
			"%s: verified, then encrypted",
			backup,
		), vital.Grade(
			now.Sub(i.Backups[0].Created),
			restoreTestHigh,
			restoreTestBad,
		)
	case len(i.Backups) > 0:
		tested, state = c.T(
			"%s: verified",
			backup,
		), vital.Grade(
			now.Sub(i.Backups[0].Created),
			restoreTestHigh,
			restoreTestBad,
		)
	}
	add(
		state,
		c.T("Last restore test"),
		tested,
		over(kit.About(restoreTestHigh)),
		ages(now, testedAt...),
		c.T("Back up again, and check the disk of the backups. kairosd restore --dry-run FILE shows the damage of a backup."),
	)
	examined, state := c.T("not since the start"), ""
	if !i.CheckedAt.IsZero() {
		age := now.Sub(i.CheckedAt)
		examined, state = c.Ago(age), vital.Grade(age, integrityCheckHigh, integrityCheckBad)
	}
	if i.Finding != "" {
		state = "fail"
	}
	add(
		state,
		c.T("Integrity check"),
		examined,
		over(kit.About(integrityCheckHigh)),
		ages(now, i.CheckedAt),
		c.T("Run kairosd doctor, and keep its output."),
	)
	starts := c.Number(int64(i.Starts))
	if i.UncleanStarts > 0 {
		starts = c.T("%s, %s after a crash", starts, c.Number(int64(i.UncleanStarts)))
	}
	if i.Continued > 0 {
		starts += "; " + c.N(int(i.Continued), "%s run was resumed", "%s runs were resumed")
	}
	if i.Undecided > 0 {
		starts += "; " + c.N(int(i.Undecided), "%s waits for a decision", "%s wait for a decision")
	}
	state = vital.Grade(i.Starts, startsHigh, startsBad)
	if state == "" && i.UncleanStarts > 0 {
		state = "need"
	}
	add(
		state,
		c.T("Starts in the last 7 days"),
		starts,
		c.T("over %s, or any after a crash", c.Number(startsHigh)),
		ages(now, i.StartTimes...),
		c.T("The audit log records each start. The daemon log records the reason of each stop."),
	)
	if len(providers) > 0 {
		state, bad := "", []string{}
		for _, p := range providers {
			if p.Trouble() {
				bad = append(bad, kit.Visible(p.Name))
			}
		}
		text := c.T("no failures")
		if len(bad) > 0 {
			state, text = "need", c.T(
				"%s of %s fail: %s",
				c.Number(int64(len(bad))),
				c.Number(int64(len(providers))),
				strings.Join(bad, ", "),
			)
		}
		add(
			state,
			c.T("Model providers"),
			text,
			c.T("any failing"),
			trend(func(s domain.Sample) float64 { return float64(s.Providers) }),
			c.T("The page of each provider, under Agents, shows its error."),
		)
	}
	if slices.ContainsFunc(tools, func(t domain.ToolInfo) bool { return t.Breaker != nil }) {
		open, _ := domain.OpenCircuits(tools, "")
		state, text := "", c.T("all closed")
		if len(open) > 0 {
			names := make([]string, 0, kit.CircuitList+1)
			for _, c := range open[:min(len(open), kit.CircuitList)] {
				names = append(names, kit.CircuitOf(c.Tool, c.Part))
			}
			if n := len(open) - kit.CircuitList; n > 0 {
				names = append(names, c.N(n, "%s more", "%s more"))
			}
			state, text = "need", c.N(len(open), "%s is open: %s", "%s are open: %s", strings.Join(names, ", "))
		}
		add(
			state,
			c.T("Circuits of tools and hosts"),
			text,
			c.T("any open"),
			trend(func(s domain.Sample) float64 { return float64(s.Circuits) }),
			c.T("The page of each tool shows the reason and the end. A bulk operation can wait for the end."),
		)
	}
	clock, state := c.T("unknown"), ""
	switch {
	case i.Clock.Behind != "":
		clock, state = kit.Visible(i.Clock.Behind), "fail"
	case i.Clock.Known && i.Clock.Synced:
		clock, state = c.T(
			"synchronized within %s",
			vital.Span(i.Clock.Within.Duration()),
		), vital.Grade(
			i.Clock.Within.Duration(),
			clockHigh,
			clockBad,
		)
	case i.Clock.Known:
		clock, state = c.T("not synchronized"), "need"
	}
	add(
		state,
		c.T("Clock"),
		clock,
		over(vital.Span(clockHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Clock) }),
		c.T("Synchronize the machine with a time server. Timers, sessions, and schedules use this clock."),
	)
	add(
		vital.Grade(v.Memory, memoryHigh, memoryBad),
		c.T("Memory"),
		vital.Bytes(c.Display.Lang, v.Memory),
		over(vital.Bytes(c.Display.Lang, memoryHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Memory) }),
		c.T("Find runs with large values, or lower engine.max_nodes so that kairosd holds fewer of them."),
	)
	add(
		vital.Grade(v.Goroutines, routinesHigh, 5*routinesHigh),
		c.T("Goroutines"),
		c.Number(int64(v.Goroutines)),
		over(c.Number(routinesHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Goroutines) }),
		c.T("Active steps and open pages need a few each. If the number grows without them, keep the daemon log and restart kairosd."),
	)
	add(
		vital.Grade(v.Listeners, streamsHigh, 10*streamsHigh),
		c.T("Live streams"),
		c.Number(int64(v.Listeners)),
		over(c.Number(streamsHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Listeners) }),
		c.T("The audit log shows who logs in. A program that waits for one run can request only that run."),
	)
	return out
}

// all is a state that asks for attention once all slots are taken.
func all(taken, of int) string {
	if of > 0 && taken >= of {
		return "need"
	}
	return ""
}

// last is the newest minute; one of before a restart is none.
func last(s []domain.Sample, now time.Time) domain.Sample {
	if len(s) == 0 || now.Sub(s[len(s)-1].At) > 3*time.Minute {
		return domain.Sample{}
	}
	return s[len(s)-1]
}

// idle is for how long no step has ended, by the minutes that are known of this
// process: one that has just begun has not been idle.
func idle(samples []domain.Sample, now time.Time) time.Duration {
	since := now
	for _, s := range slices.Backward(samples) {
		if s.Nodes > 0 || since.Sub(s.At) > 3*time.Minute {
			break
		}
		since = s.At
	}
	return now.Sub(since)
}

// failures are how many runs failed lately, and how many ended.
func failures(samples []domain.Sample, now time.Time) (failed, ended int64) {
	for _, s := range samples {
		if now.Sub(s.At) < failedWithin {
			failed, ended = failed+s.Failed, ended+s.Ended
		}
	}
	return failed, ended
}
