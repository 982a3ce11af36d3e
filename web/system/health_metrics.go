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
		c.T("The machine has no time for kairosd. Look at what else runs on it, or lower engine.max_nodes."),
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
		c.T("Nodes running"),
		c.T("%s of %s", c.Number(int64(v.Nodes)), c.Number(int64(v.NodeSlots))),
		c.T("all slots"),
		trend(func(s domain.Sample) float64 { return float64(s.Running) }),
		c.T("Steps that are ready wait until one ends. Raise engine.max_nodes if the machine has room."),
	)
	queued, state := c.Number(int64(v.Queued)), ""
	if v.Queued > 0 && !v.Oldest.IsZero() {
		waits := now.Sub(v.Oldest)
		queued, state = c.T("%s, the oldest for %s", queued, kit.About(waits)), vital.Grade(waits, waitHigh, waitBad)
	}
	add(state, c.T("Queued runs"), queued, over(kit.About(waitHigh)), trend(func(s domain.Sample) float64 { return float64(s.Queued) }),
		c.T("All slots are taken. Look at what the runs at work wait for; raise engine.max_running if the machine has room."))
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
		c.T("The disk is slow or busy: every step of every run waits for it. Look at what else writes to it."),
	)
	state = ""
	if v.Working > 0 && idle(v.Samples, now) > idleHigh {
		state = "need"
	}
	add(
		state,
		c.T("Steps a minute"),
		c.Number(last(v.Samples, now).Nodes),
		c.T("none for %s, with runs at work", kit.About(idleHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Nodes) }),
		c.T("A tool or a provider may hang: look at the running runs, the longest first."),
	)
	failed, ended := failures(v.Samples, now)
	state = ""
	if failed > failedFew {
		state = vital.Grade(100*failed/max(ended, 1), failedHigh, failedBad)
	}
	add(
		state,
		c.T("Failed runs a minute"),
		c.T("%s; %s of %s in the last hour", c.Number(last(v.Samples, now).Failed), c.Number(failed), c.Number(ended)),
		c.T("over %s of those that end", c.Display.Lang.Percent(failedHigh/100.)),
		trend(
			func(s domain.Sample) float64 { return float64(s.Failed) },
		),
		c.T("Home groups them by their cause: one outage is one line, with one act for all of it."),
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
		c.T("The database"),
		size,
		c.T("less than %s free", c.Display.Lang.Percent(1.0/freeHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Database) }),
		c.T("Set or shorten retention, or give the data directory a larger disk."),
	)
	growth, state := c.T("too early to say"), ""
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
	add(state, c.T("The database grows by"), growth, c.T("full within %s", kit.About(fullHigh)), growths(v.Samples),
		c.T("Set or shorten retention, or give the data directory a larger disk."))
	add(
		vital.Grade(i.Storage.WAL, vital.WALHigh, vital.WALBad),
		c.T("Write-ahead log"),
		vital.Bytes(c.Display.Lang, i.Storage.WAL),
		over(vital.Bytes(c.Display.Lang, vital.WALHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.WAL) }),
		c.T("Something reads one old state for long, as a backup does. It shrinks when that ends."),
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
		c.T("Log last moved into the database"),
		moved,
		c.T("over %s, with %s to move", kit.About(movedHigh), vital.Bytes(c.Display.Lang, walUnmoved)),
		ages(now, i.Storage.MovedAt),
		c.T("Something reads one old state for long, as a backup does. It is moved when that ends."),
	)
	state = ""
	backup := c.T("there is none")
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
			"%s: %s is the file that was written; it is encrypted, and the rest can be seen only with its key",
			c.Ago(now.Sub(t.At)),
			kit.Visible(t.Backup),
		), vital.Grade(
			now.Sub(t.At),
			restoreTestHigh,
			restoreTestBad,
		)
	case t != nil && (len(i.Backups) == 0 || t.At.After(i.Backups[0].Created)):
		tested, state = c.T(
			"%s: %s was read back and can be restored",
			c.Ago(now.Sub(t.At)),
			kit.Visible(t.Backup),
		), vital.Grade(
			now.Sub(t.At),
			restoreTestHigh,
			restoreTestBad,
		)
	case len(i.Backups) > 0 && i.Backups[0].Encryption != nil:
		tested, state = c.T(
			"%s: opened and verified as a restore would, then encrypted",
			backup,
		), vital.Grade(
			now.Sub(i.Backups[0].Created),
			restoreTestHigh,
			restoreTestBad,
		)
	case len(i.Backups) > 0:
		tested, state = c.T(
			"%s: opened and verified as a restore would",
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
		c.T("Make another backup, and look at the disk that holds them: kairosd restore --dry-run FILE shows the damage of one."),
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
		c.T("The audit log has each start; the daemon's log has the reason of each stop."),
	)
	if len(providers) > 0 {
		state, bad := "", []string{}
		for _, p := range providers {
			if p.Trouble() {
				bad = append(bad, kit.Visible(p.Name))
			}
		}
		text := c.T("none has failed")
		if len(bad) > 0 {
			state, text = "need", c.T(
				"%s of %s in trouble: %s",
				c.Number(int64(len(bad))),
				c.Number(int64(len(providers))),
				strings.Join(bad, ", "),
			)
		}
		add(
			state,
			c.T("Providers of models"),
			text,
			c.T("any in trouble"),
			trend(func(s domain.Sample) float64 { return float64(s.Providers) }),
			c.T("Their pages, below Agents, say with what they fail."),
		)
	}
	if slices.ContainsFunc(tools, func(t domain.ToolInfo) bool { return t.Breaker != nil }) {
		open, _ := domain.OpenCircuits(tools, "")
		state, text := "", c.T("none is open")
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
			c.T("The page of each tool shows why, and until when. A bulk operation can wait for it."),
		)
	}
	clock, state := c.T("the system does not say"), ""
	switch {
	case i.Clock.Behind != "":
		clock, state = kit.Visible(i.Clock.Behind), "fail"
	case i.Clock.Known && i.Clock.Synced:
		clock, state = c.T(
			"kept right, off by at most %s",
			vital.Span(i.Clock.Within.Duration()),
		), vital.Grade(
			i.Clock.Within.Duration(),
			clockHigh,
			clockBad,
		)
	case i.Clock.Known:
		clock, state = c.T("nothing keeps it right"), "need"
	}
	add(
		state,
		c.T("Clock"),
		clock,
		over(vital.Span(clockHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Clock) }),
		c.T("Let the machine take its time from a time server: timers, sessions and schedules go by this clock."),
	)
	add(
		vital.Grade(v.Memory, memoryHigh, memoryBad),
		c.T("Memory"),
		vital.Bytes(c.Display.Lang, v.Memory),
		over(vital.Bytes(c.Display.Lang, memoryHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Memory) }),
		c.T("Look for runs with large values; lower engine.max_nodes, so that fewer of them are held at a time."),
	)
	add(
		vital.Grade(v.Goroutines, routinesHigh, 5*routinesHigh),
		c.T("Goroutines"),
		c.Number(int64(v.Goroutines)),
		over(c.Number(routinesHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Goroutines) }),
		c.T("Steps at work and open pages take a few each. If they grow without either, keep the daemon's log and restart it."),
	)
	add(
		vital.Grade(v.Listeners, streamsHigh, 10*streamsHigh),
		c.T("Live streams"),
		c.Number(int64(v.Listeners)),
		over(c.Number(streamsHigh)),
		trend(func(s domain.Sample) float64 { return float64(s.Listeners) }),
		c.T("The audit log shows who logs in; programs that only wait for one run can request that run alone."),
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
