package webtest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// System is the system interface of a test server. Tests set its state.
type System struct {
	mu      sync.Mutex
	now     domain.Server
	notices []domain.Notice
	metrics *domain.HealthMetrics
	backups int
	broken  error
}

// server adds the settings to System, because the API expects one implementation of both.
type server struct {
	*System
	*settings
}

// Fail makes reading the status fail with err, or succeed if err is nil.
func (s *System) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// Set replaces the status and the notices.
func (s *System) Set(now domain.Server, notices ...domain.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.notices = now, notices
}

// Backups returns the number of backups requested.
func (s *System) Backups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backups
}

// Server returns the status that was set.
func (s *System) Server(context.Context) (domain.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.broken
}

// Maintain enables or disables maintenance in the status that was set.
func (s *System) Maintain(ctx context.Context, keep app.Recorder, actor domain.Actor, on bool, reason string) (*domain.Maintenance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on == (s.now.Maintenance != nil) {
		return nil, domain.Errorf(domain.CodeConflict, "that is so already")
	}
	record := domain.AuditRecord{Action: "maintenance.end", Reason: reason}
	if on {
		record.Action = "maintenance.begin"
	}
	if err := keep.SetSettingAs(ctx, "maintenance", "", record); err != nil {
		return nil, err
	}
	s.now.Maintenance = nil
	if on {
		s.now.Maintenance = &domain.Maintenance{Since: time.Now(), By: actor.Name, Reason: reason}
	}
	return s.now.Maintenance, nil
}

// Retention returns a rule that deletes failed runs after a year.
func (s *System) Retention() domain.Retention {
	return domain.Retention{Default: domain.RetentionRule{Failed: 365 * 24 * time.Hour}}
}

// SetHealthMetrics replaces the health metrics.
func (s *System) SetHealthMetrics(v domain.HealthMetrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics = &v
}

// HealthMetrics returns the metrics that were set, or by default those of a server with an hour of
// uptime.
func (s *System) HealthMetrics(context.Context) (domain.HealthMetrics, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.metrics != nil {
		return *s.metrics, nil
	}
	now := time.Now().UTC()
	v := domain.HealthMetrics{
		At:           now,
		Slots:        64,
		NodeSlots:    256,
		Working:      3,
		Nodes:        5,
		Queued:       12,
		Oldest:       now.Add(-2 * time.Minute),
		Memory:       48 << 20,
		Goroutines:   41,
		Listeners:    2,
		Lag:          domain.Millis(300 * time.Microsecond),
		GrowthPerDay: 3 << 30,
		FullAt:       now.Add(9 * 24 * time.Hour),
		Commits: domain.CommitMetrics{
			P50:       domain.Millis(900 * time.Microsecond),
			P95:       domain.Millis(4 * time.Millisecond),
			P99:       domain.Millis(11 * time.Millisecond),
			PerMinute: 900,
			Writes:    1200,
		},
	}
	for i := range 60 {
		v.Samples = append(
			v.Samples,
			domain.Sample{
				At:         now.Add(time.Duration(i-60) * time.Minute),
				Nodes:      int64(100 + 37*i%50),
				Failed:     int64(i % 7 / 6),
				Commit:     domain.Millis(time.Duration(3+i%4) * time.Millisecond),
				Lag:        domain.Millis(time.Duration(i%9) * 50 * time.Microsecond),
				Working:    i % 5,
				Queued:     i / 4,
				Memory:     int64(40+i%8) << 20,
				Database:   int64(100+2*i) << 20,
				WAL:        int64(i%9) << 20,
				Goroutines: 40 + i%6,
				Listeners:  i % 3,
			},
		)
	}
	return v, nil
}

// Log returns two lines, one of them with hostile text.
func (s *System) Log(_ context.Context, level, text string) ([]domain.DaemonLog, error) {
	out := []domain.DaemonLog{{At: time.Now().UTC(), Level: "ERROR", Message: "page failed", Facts: `{"err":"` + Hostile + `"}`}}
	if level == "" || level == "INFO" {
		out = append(out, domain.DaemonLog{At: time.Now().Add(-time.Hour).UTC(), Level: "INFO", Message: "kairosd is ready"})
	}
	if text != "" {
		out = slices.DeleteFunc(out, func(l domain.DaemonLog) bool { return !strings.Contains(l.Message+l.Facts, text) })
	}
	return out, nil
}

// Notices returns the notices that were set.
func (s *System) Notices(context.Context) []domain.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notices
}

// BackUp counts the requested backups.
func (s *System) BackUp(context.Context, domain.Actor) (domain.Backup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backups++
	return domain.Backup{}, nil
}
