package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// limits beyond which a vital line asks for attention, and alarms.
const (
	lagHigh, lagBad         = 100 * time.Millisecond, time.Second
	memoryHigh, memoryBad   = 1 << 30, 4 << 30
	routinesHigh            = 20_000
	streamsHigh             = 1000
	drillHigh, drillBad     = 9 * 24 * time.Hour, 30 * 24 * time.Hour
	freeHigh, freeBad       = 20, 100 // the disk's size over what is free of it
	waitHigh, waitBad       = time.Minute, 15 * time.Minute
	commitHigh, commitBad   = 50 * time.Millisecond, 500 * time.Millisecond
	walHigh, walBad         = 256 << 20, 2 << 30
	fullHigh, fullBad       = 30 * 24 * time.Hour, 3 * 24 * time.Hour
	backupHigh, backupBad   = 2 * 24 * time.Hour, 14 * 24 * time.Hour
	startsHigh, startsBad   = 10, 50
	clockHigh, clockBad     = time.Second, time.Minute
	examineHigh, examineBad = 8 * 24 * time.Hour, 30 * 24 * time.Hour
	failedHigh, failedBad   = 10, 50 // percent of the runs that ended in failedWithin
	failedWithin            = time.Hour
	failedFew               = 5                // failures that are no figure yet
	idleHigh                = 15 * time.Minute // no step ends, though runs are at work
	movedHigh               = time.Hour        // and more than walUnmoved waits
	walUnmoved              = 64 << 20
)

// vitals are the lines of the System page: what is, from when on it is too much,
// how it went, and what to do.
func (r *request) vitals(v domain.Vitals, i domain.Installation, providers []domain.ProviderInfo, tools []domain.ToolInfo) []view.Vital {
	now := v.At
	trend := func(pick func(domain.Sample) float64) []point { return sampled(v.Samples, pick) }
	var out []view.Vital
	add := func(state, name, value, limit string, trend []point, advice string) {
		out = append(out, view.Vital{State: state, Name: name, Value: value, Limit: limit, Trends: sparks(trend, now), Advice: advice})
	}
	over := func(limit string) string { return r.t("over %s", limit) }

	add(grade(v.Lag, lagHigh, lagBad), r.t("Timers are late by"), span(v.Lag), over(span(lagHigh)), trend(func(s domain.Sample) float64 { return float64(s.Lag) }),
		r.t("The machine has no time for kairosd. Look at what else runs on it, or lower engine.max_nodes."))
	add(all(v.Working, v.Slots), r.t("Runs at work"), r.t("%s of %s", r.number(int64(v.Working)), r.number(int64(v.Slots))), r.t("all slots"), trend(func(s domain.Sample) float64 { return float64(s.Working) }),
		r.t("New runs queue until one ends. Raise engine.max_running if the machine has room."))
	add(all(v.Nodes, v.NodeSlots), r.t("Nodes running"), r.t("%s of %s", r.number(int64(v.Nodes)), r.number(int64(v.NodeSlots))), r.t("all slots"), trend(func(s domain.Sample) float64 { return float64(s.Running) }),
		r.t("Steps that are ready wait until one ends. Raise engine.max_nodes if the machine has room."))
	queued, state := r.number(int64(v.Queued)), ""
	if v.Queued > 0 && !v.Oldest.IsZero() {
		waits := now.Sub(v.Oldest)
		queued, state = r.t("%s, the oldest for %s", queued, about(waits)), grade(waits, waitHigh, waitBad)
	}
	add(state, r.t("Queued runs"), queued, over(about(waitHigh)), trend(func(s domain.Sample) float64 { return float64(s.Queued) }),
		r.t("All slots are taken. Look at what the runs at work wait for; raise engine.max_running if the machine has room."))
	commits := r.t("none yet")
	if v.Commits.P50 > 0 {
		commits = fmt.Sprintf("p50 %s · p95 %s · p99 %s", span(v.Commits.P50), span(v.Commits.P95), span(v.Commits.P99))
	}
	add(grade(v.Commits.P95, commitHigh, commitBad), r.t("Checkpoint writes"), commits, "p95 "+over(span(commitHigh)), trend(func(s domain.Sample) float64 { return float64(s.Commit) }),
		r.t("The disk is slow or busy: every step of every run waits for it. Look at what else writes to it."))
	state = ""
	if v.Working > 0 && idle(v.Samples, now) > idleHigh {
		state = "need"
	}
	add(state, r.t("Steps a minute"), r.number(last(v.Samples, now).Nodes), r.t("none for %s, with runs at work", about(idleHigh)), trend(func(s domain.Sample) float64 { return float64(s.Nodes) }),
		r.t("A tool or a provider may hang: look at the running runs, the longest first."))
	failed, ended := failures(v.Samples, now)
	state = ""
	if failed > failedFew {
		state = grade(100*failed/max(ended, 1), failedHigh, failedBad)
	}
	add(state, r.t("Failed runs a minute"), r.t("%s; %s of %s in the last hour", r.number(last(v.Samples, now).Failed), r.number(failed), r.number(ended)), r.t("over %s of those that end", r.display.lang.Percent(failedHigh/100.)),
		trend(func(s domain.Sample) float64 { return float64(s.Failed) }), r.t("Home groups them by their cause: one outage is one line, with one act for all of it."))
	state = ""
	size := r.bytes(i.Storage.Database)
	if d := i.Storage; d.Disk > 0 {
		size, state = r.t("%s, %s free on the disk", size, r.bytes(d.Free)), grade(d.Disk/max(d.Free, 1), freeHigh, freeBad)
	}
	add(state, r.t("The database"), size, r.t("less than %s free", r.display.lang.Percent(1.0/freeHigh)), trend(func(s domain.Sample) float64 { return float64(s.Database) }),
		r.t("Set or shorten retention, or give the data directory a larger disk."))
	growth, state := r.t("too early to say"), ""
	if len(v.Samples) >= 30 {
		growth = r.t("%s a day", r.bytes(v.GrowthPerDay))
	}
	if !v.FullAt.IsZero() {
		left := v.FullAt.Sub(now)
		growth = r.t("%s, full on %s, in %s", growth, v.FullAt.In(r.display.zone).Format(time.DateOnly), about(left))
		if left < fullHigh {
			state = "need"
		}
		if left < fullBad {
			state = "fail"
		}
	}
	add(state, r.t("The database grows by"), growth, r.t("full within %s", about(fullHigh)), growths(v.Samples),
		r.t("Set or shorten retention, or give the data directory a larger disk."))
	add(grade(i.Storage.WAL, walHigh, walBad), r.t("Write-ahead log"), r.bytes(i.Storage.WAL), over(r.bytes(walHigh)), trend(func(s domain.Sample) float64 { return float64(s.WAL) }),
		r.t("Something reads one old state for long, as a backup does. It shrinks when that ends."))
	moved, state := r.t("not since the start"), ""
	if !i.Storage.MovedAt.IsZero() {
		moved = r.ago(now.Sub(i.Storage.MovedAt))
		if now.Sub(i.Storage.MovedAt) > movedHigh && i.Storage.WAL > walUnmoved {
			state = "need"
		}
	}
	add(state, r.t("Log last moved into the database"), moved, r.t("over %s, with %s to move", about(movedHigh), r.bytes(walUnmoved)), ages(now, i.Storage.MovedAt),
		r.t("Something reads one old state for long, as a backup does. It is moved when that ends."))
	state = ""
	backup := r.t("there is none")
	made := make([]time.Time, 0, len(i.Backups))
	for _, b := range i.Backups {
		made = append(made, b.Created)
	}
	if len(i.Backups) > 0 {
		age := now.Sub(i.Backups[0].Created)
		backup, state = r.ago(age), grade(age, backupHigh, backupBad)
	} else if i.BackupDir != "" {
		state = "need"
	}
	add(state, r.t("Last backup"), backup, over(about(backupHigh)), ages(now, made...), r.t("Set backup.every in the configuration, or back up now."))
	// Each backup is opened as a database and verified when it is made, before it is
	// encrypted; the newest is read back again every week.
	tested, state, testedAt := r.t("none"), "", made
	if i.RestoreTest != nil {
		testedAt = append(testedAt, i.RestoreTest.At)
	}
	switch t := i.RestoreTest; {
	case t != nil && t.Problem != "":
		tested, state = r.t("%s: %s cannot be restored: %s", r.ago(now.Sub(t.At)), visible(t.Backup), visible(t.Problem)), "fail"
	case t != nil && t.Encrypted && (len(i.Backups) == 0 || t.At.After(i.Backups[0].Created)):
		tested, state = r.t("%s: %s is the file that was written; it is encrypted, and the rest can be seen only with its key", r.ago(now.Sub(t.At)), visible(t.Backup)), grade(now.Sub(t.At), drillHigh, drillBad)
	case t != nil && (len(i.Backups) == 0 || t.At.After(i.Backups[0].Created)):
		tested, state = r.t("%s: %s was read back and can be restored", r.ago(now.Sub(t.At)), visible(t.Backup)), grade(now.Sub(t.At), drillHigh, drillBad)
	case len(i.Backups) > 0 && i.Backups[0].Encryption != nil:
		tested, state = r.t("%s: opened and verified as a restore would, then encrypted", backup), grade(now.Sub(i.Backups[0].Created), drillHigh, drillBad)
	case len(i.Backups) > 0:
		tested, state = r.t("%s: opened and verified as a restore would", backup), grade(now.Sub(i.Backups[0].Created), drillHigh, drillBad)
	}
	add(state, r.t("Last restore test"), tested, over(about(drillHigh)), ages(now, testedAt...), r.t("Make another backup, and look at the disk that holds them: kairosd restore --drill FILE says what is wrong with one."))
	examined, state := r.t("not since the start"), ""
	if !i.CheckedAt.IsZero() {
		age := now.Sub(i.CheckedAt)
		examined, state = r.ago(age), grade(age, examineHigh, examineBad)
	}
	if i.Finding != "" {
		state = "fail"
	}
	add(state, r.t("Database examined"), examined, over(about(examineHigh)), ages(now, i.CheckedAt), r.t("Run kairosd doctor, and keep its output."))
	starts := r.number(int64(i.Starts))
	if i.UncleanStarts > 0 {
		starts = r.t("%s, %s after a crash", starts, r.number(int64(i.UncleanStarts)))
	}
	if i.TakenUp > 0 {
		starts += "; " + r.n(int(i.TakenUp), "%s run was taken up again", "%s runs were taken up again")
	}
	if i.Undecided > 0 {
		starts += "; " + r.n(int(i.Undecided), "%s waits for a decision", "%s wait for a decision")
	}
	state = grade(i.Starts, startsHigh, startsBad)
	if state == "" && i.UncleanStarts > 0 {
		state = "need"
	}
	add(state, r.t("Starts in the last 7 days"), starts, r.t("over %s, or any after a crash", r.number(startsHigh)), ages(now, i.StartTimes...), r.t("The audit log has each start; the daemon's log says why the one before it ended."))
	if len(providers) > 0 {
		state, bad := "", []string{}
		for _, p := range providers {
			if p.Trouble() {
				bad = append(bad, visible(p.Name))
			}
		}
		text := r.t("none has failed")
		if len(bad) > 0 {
			state, text = "need", r.t("%s of %s in trouble: %s", r.number(int64(len(bad))), r.number(int64(len(providers))), strings.Join(bad, ", "))
		}
		add(state, r.t("Providers of models"), text, r.t("any in trouble"), trend(func(s domain.Sample) float64 { return float64(s.Providers) }), r.t("Their pages, below Agents, say with what they fail."))
	}
	if slices.ContainsFunc(tools, func(t domain.ToolInfo) bool { return t.Breaker != nil }) {
		open, _ := domain.OpenCircuits(tools, "")
		state, text := "", r.t("none is open")
		if len(open) > 0 {
			names := make([]string, 0, circuitsListed+1)
			for _, c := range open[:min(len(open), circuitsListed)] {
				names = append(names, circuitOf(c.Tool, c.Part))
			}
			if n := len(open) - circuitsListed; n > 0 {
				names = append(names, r.n(n, "%s more", "%s more"))
			}
			state, text = "need", r.n(len(open), "%s is open: %s", "%s are open: %s", strings.Join(names, ", "))
		}
		add(state, r.t("Circuits of tools and hosts"), text, r.t("any open"), trend(func(s domain.Sample) float64 { return float64(s.Circuits) }), r.t("The page of each tool says why, and until when. An act on many runs can wait for it."))
	}
	clock, state := r.t("the system does not say"), ""
	switch {
	case i.Clock.Behind != "":
		clock, state = visible(i.Clock.Behind), "fail"
	case i.Clock.Known && i.Clock.Synced:
		clock, state = r.t("kept right, off by at most %s", span(i.Clock.Within)), grade(i.Clock.Within, clockHigh, clockBad)
	case i.Clock.Known:
		clock, state = r.t("nothing keeps it right"), "need"
	}
	add(state, r.t("Clock"), clock, over(span(clockHigh)), trend(func(s domain.Sample) float64 { return float64(s.Clock) }), r.t("Let the machine take its time from a time server: timers, sessions and schedules go by this clock."))
	add(grade(v.Memory, memoryHigh, memoryBad), r.t("Memory"), r.bytes(v.Memory), over(r.bytes(memoryHigh)), trend(func(s domain.Sample) float64 { return float64(s.Memory) }),
		r.t("Look for runs with large values; lower engine.max_nodes, so that fewer of them are held at a time."))
	add(grade(v.Goroutines, routinesHigh, 5*routinesHigh), r.t("Goroutines"), r.number(int64(v.Goroutines)), over(r.number(routinesHigh)), trend(func(s domain.Sample) float64 { return float64(s.Goroutines) }),
		r.t("Steps at work and open pages take a few each. If they grow without either, keep the daemon's log and restart it."))
	add(grade(v.Listeners, streamsHigh, 10*streamsHigh), r.t("Live streams"), r.number(int64(v.Listeners)), over(r.number(streamsHigh)), trend(func(s domain.Sample) float64 { return float64(s.Listeners) }),
		r.t("The audit log says who logs in; programs that only wait for one run can ask for that run alone."))
	return out
}

// all is a state that asks for attention once every one of so many is taken.
func all(taken, of int) string {
	if of > 0 && taken >= of {
		return "need"
	}
	return ""
}

// grade is how bad a figure is: "", "need" or "fail".
func grade[T int | int64 | time.Duration](v, high, bad T) string {
	switch {
	case v > bad:
		return "fail"
	case v > high:
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

// span is a short duration to three digits.
func span(d time.Duration) string {
	switch {
	case d == 0:
		return "0 ms"
	case d < time.Millisecond:
		return strconv.Itoa(int(d.Microseconds())) + " µs"
	case d < time.Second:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
}
