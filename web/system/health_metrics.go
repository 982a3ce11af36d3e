package system

import (
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
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
	server domain.Server,
	providers []domain.ProviderInfo,
	tools []domain.ToolInfo,
) []HealthMetric {
	h := &health{c: c, v: v, server: server, providers: providers, tools: tools, now: v.At}
	for _, add := range []func(){
		h.work,
		h.queue,
		h.commits,
		h.throughput,
		h.failures,
		h.disk,
		h.growth,
		h.log,
		h.backup,
		h.restoreTest,
		h.integrity,
		h.starts,
		h.modelProviders,
		h.circuits,
		h.clock,
		h.process,
	} {
		add()
	}
	return h.rows
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
