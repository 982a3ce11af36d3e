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

// These are the thresholds from which a health metric is marked as high and as bad.
const (
	lagHigh, lagBad                       = 100 * time.Millisecond, time.Second
	memoryHigh, memoryBad                 = 1 << 30, 4 << 30
	routinesHigh                          = 20_000
	streamsHigh                           = 1000
	restoreTestHigh, restoreTestBad       = 9 * 24 * time.Hour, 30 * 24 * time.Hour
	freeHigh, freeBad                     = 20, 100 // disk size divided by free space
	waitHigh, waitBad                     = time.Minute, 15 * time.Minute
	fullHigh, fullBad                     = 30 * 24 * time.Hour, 3 * 24 * time.Hour
	startsHigh, startsBad                 = 10, 50
	clockHigh, clockBad                   = time.Second, time.Minute
	integrityCheckHigh, integrityCheckBad = 8 * 24 * time.Hour, 30 * 24 * time.Hour
	failedHigh, failedBad                 = 10, 50 // percent of the runs that ended within failedWithin
	failedWithin                          = time.Hour
	failedFew                             = 5                // up to this number of failures, the share is ignored
	idleHigh                              = 15 * time.Minute // no step ended, although runs are active
	movedHigh                             = time.Hour        // age of the last WAL checkpoint, if the WAL also exceeds walUnmoved
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

// mark returns the state of a metric as an icon and a word.
func (m HealthMetric) mark() kit.Status {
	switch m.State {
	case "fail":
		return kit.Word("fail", "i-fail", locale.Mark("bad:"), false)
	case "need":
		return kit.Word("need", "i-need", locale.Mark("high:"), false)
	}
	return kit.Word("ok", "i-ok", locale.Mark("OK:"), false)
}

// healthMetrics returns the rows of the health page, each with the current value, its threshold,
// its trend, and advice.
func (s *section) healthMetrics(
	c *ui.Context,
	v domain.HealthMetrics,
	server domain.Server,
	providers []domain.ProviderInfo,
	tools []domain.ToolInfo,
) []HealthMetric {
	h := &health{c: c, v: v, server: server, providers: providers, tools: tools, now: v.At}
	for _, add := range []func(){
		h.workers,
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

// all returns a state that needs attention if all slots are in use.
func all(taken, of int) string {
	if of > 0 && taken >= of {
		return "need"
	}
	return ""
}

// last returns the newest sample, or a zero sample if it is older than 3 minutes, which happens
// after a restart.
func last(s []domain.Sample, now time.Time) domain.Sample {
	if len(s) == 0 || now.Sub(s[len(s)-1].At) > 3*time.Minute {
		return domain.Sample{}
	}
	return s[len(s)-1]
}

// idle returns the time since the last step ended, as far as the samples without a gap go back. It
// is short after a start of the process.
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

// failures returns the number of runs that failed and that ended within failedWithin.
func failures(samples []domain.Sample, now time.Time) (failed, ended int64) {
	for _, s := range samples {
		if now.Sub(s.At) < failedWithin {
			failed, ended = failed+s.Failed, ended+s.Ended
		}
	}
	return failed, ended
}
