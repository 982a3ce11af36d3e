package metric

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	day    = 24 * 60 // in samples
	recent = 5       // minutes over which percentiles are computed
	beat   = time.Second
)

// minute contains the counts since the last sample.
type minute struct {
	created, ended, failed, nodes int64
	writes                        int64
	commits                       latencies
	lag                           latencies
}

func (m *minute) add(o *minute) {
	m.created += o.created
	m.ended += o.ended
	m.failed += o.failed
	m.nodes += o.nodes
}

// Run takes a sample every minute until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	last, sampled := time.Now(), time.Now()
	defer r.keep()
	for taken := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The difference between the ticker and the clock is the time for which the process could
		// not run. On a busy machine, every timer of a plan has the same delay.
		now := time.Now()
		late := max(now.Sub(last)-beat, 0)
		last = now
		r.lag.Observe(late.Seconds())
		r.mu.Lock()
		r.now.lag.add(late)
		r.mu.Unlock()
		if now.Sub(sampled) >= time.Minute {
			sampled = now
			r.Sample(ctx)
			if taken++; taken%keepEvery == 0 {
				r.keep()
			}
		}
	}
}

// Sample ends the current minute.
func (r *Recorder) Sample(ctx context.Context) {
	s := r.from()
	sample := domain.Sample{At: r.o.Now().UTC().Truncate(time.Second), Memory: memory(), Goroutines: goroutines()}
	if s.Load != nil {
		l := loadOf(ctx, s)
		sample.Working, sample.Running, sample.Queued, sample.Listeners, sample.Clock = l.Working, l.Nodes, l.Queued, s.Listeners(),
			s.Clock().Within
		for _, p := range s.Providers() {
			if p.Trouble() {
				sample.Providers++
			}
		}
		for _, c := range s.Circuits() {
			if c.Kind == "tool" {
				sample.Circuits += c.Open
			}
		}
		if u, err := s.Storage(ctx); err == nil {
			sample.Database, sample.WAL = u.Database-u.Unused+u.WAL, u.WAL
		} else if ctx.Err() == nil {
			r.o.Logger.Error("measure the storage", "err", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.now
	sample.Created, sample.Ended, sample.Failed, sample.Nodes = m.created, m.ended, m.failed, m.nodes
	sample.Commit, sample.Lag = domain.Millis(m.commits.percentile(.95)), domain.Millis(m.lag.percentile(.95))
	if r.past = append(r.past, sample); len(r.past) > day {
		r.past = append(r.past[:0], r.past[len(r.past)-day:]...)
	}
	if r.minutes = append(r.minutes, *m); len(r.minutes) > recent {
		r.minutes = append(r.minutes[:0], r.minutes[1:]...)
	}
	r.now = minute{}
}

// HealthMetrics returns the current health metrics.
func (r *Recorder) HealthMetrics(ctx context.Context) (domain.HealthMetrics, error) {
	v := domain.HealthMetrics{At: r.o.Now().UTC(), Memory: memory(), Goroutines: goroutines(), Samples: []domain.Sample{}}
	s := r.from()
	var storage domain.Storage
	if s.Load != nil {
		l := loadOf(ctx, s)
		v.Slots, v.NodeSlots = s.Slots()
		v.Working, v.Nodes, v.Queued, v.Oldest, v.Listeners = l.Working, l.Nodes, l.Queued, l.Oldest, s.Listeners()
		var err error
		if storage, err = s.Storage(ctx); err != nil {
			return v, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	commits, lag := r.now.commits, r.now.lag
	for i := range r.minutes {
		commits.merge(&r.minutes[i].commits)
		lag.merge(&r.minutes[i].lag)
	}
	v.Lag = domain.Millis(lag.percentile(.95))
	v.Commits = domain.CommitMetrics{
		P50: domain.Millis(commits.percentile(.5)),
		P95: domain.Millis(commits.percentile(.95)),
		P99: domain.Millis(commits.percentile(.99)),
	}
	if n := len(r.minutes); n > 0 {
		v.Commits.PerMinute, v.Commits.Writes = r.minutes[n-1].commits.n, r.minutes[n-1].writes
	}
	v.Samples = append(v.Samples, r.past...)
	v.GrowthPerDay = growth(r.past)
	if v.GrowthPerDay > 0 && storage.Disk > 0 {
		days := float64(storage.Free) / float64(v.GrowthPerDay)
		if days < 3650 {
			v.FullAt = v.At.Add(time.Duration(days * float64(24*time.Hour))).Truncate(time.Minute)
		}
	}
	return v, nil
}

// loadOf returns the load. If other programs execute the runs, it consists of the numbers of running and queued runs.
func loadOf(ctx context.Context, s Source) Load {
	l := s.Load()
	if runs, _ := s.Slots(); runs > 0 {
		return l
	}
	if c, err := s.Counts(ctx); err == nil {
		l.Working, l.Queued = int(c.ByStatus[domain.RunRunning]), int(c.ByStatus[domain.RunQueued])
	}
	return l
}

// growth returns the growth of the database over the samples in bytes per day. It is 0 if they span
// less than 30 minutes, or if the database shrank.
func growth(past []domain.Sample) int64 {
	if len(past) < 2 {
		return 0
	}
	first, last := past[0], past[len(past)-1]
	span := last.At.Sub(first.At)
	if span < 30*time.Minute || first.Database == 0 || last.Database <= first.Database {
		return 0
	}
	return int64(float64(last.Database-first.Database) / span.Hours() * 24)
}

// memory returns the system memory that the process holds, without returned memory.
func memory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

func goroutines() int {
	s := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
