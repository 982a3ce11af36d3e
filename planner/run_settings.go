package planner

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// RunSettings are the settings that a plan gives to its runs. A request to start a run can replace
// the labels, the priority, and the concurrency.
type RunSettings struct {
	// Labels are templates, which can refer to the input and to values.
	Labels   map[string]string
	Priority int // of runs that are started without one
	// Timeout is the time after which a run fails that has not ended. 0 means none.
	Timeout     walk.Duration
	Concurrency *Concurrency
	// Schedule starts runs of the plan at times.
	Schedule *walk.Schedule
	// Expose lists the protocols that offer the plan as a tool: mcp.
	Expose []string
}

// Concurrency limits the number of active runs with the same key.
type Concurrency struct {
	Key        string // a template, which can refer to the input and to values
	Limit      int    // 0 means 1
	OnConflict string // queue (default), skip, or cancel_oldest
}

func concurrencyObject(c *Concurrency) any {
	if c == nil {
		return nil
	}
	return ordered{{"key", text(c.Key)}, {"limit", number(int64(c.Limit))}, {"on_conflict", text(c.OnConflict)}}
}

// members are the settings as they appear in a document.
func (s RunSettings) members() ordered {
	var labels any
	if len(s.Labels) > 0 {
		labels = s.Labels
	}
	return ordered{{"labels", labels}, {"priority", number(int64(s.Priority))}, {"timeout", duration(s.Timeout)},
		{"concurrency", concurrencyObject(s.Concurrency)}, {"schedule", scheduleObject(s.Schedule)}, {"expose", list(s.Expose)}}
}

func scheduleObject(s *walk.Schedule) any {
	if s == nil {
		return nil
	}
	return ordered{{"cron", text(s.Cron)}, {"time_zone", text(s.Zone)}, {"jitter", duration(walk.Duration(s.Jitter))},
		{"input", s.Input}, {"overlap", text(s.Overlap)}, {"catch_up", text(s.CatchUp)}, {"profile", text(s.Profile)}}
}

// compileRunSettings compiles what the plan sets for its runs.
func compileRunSettings(k *compiler, s RunSettings) {
	k.p.Priority = cmp.Or(s.Priority, k.p.Priority)
	k.p.Start.Timeout, k.p.Start.Schedule, k.p.Start.Expose = time.Duration(s.Timeout), s.Schedule, s.Expose
	k.p.Start.Profiles = k.d.Profiles
	checkScheduledProfile(k, s.Schedule)
	if len(s.Labels) > 0 {
		labels := map[string]any{}
		for name, value := range s.Labels {
			labels[name] = value
		}
		k.p.Start.Labels = compileStartTemplate(k, k.d.tree.Get("labels"), "labels", labels)
	}
	if c := s.Concurrency; c != nil {
		key := compileStartTemplate(k, k.d.tree.Get("concurrency").Get("key"), "concurrency", c.Key)
		k.p.Start.Concurrency = &walk.Concurrency{Key: key, Limit: max(c.Limit, 1),
			OnConflict: cmp.Or(walk.OnConflict(c.OnConflict), walk.ConflictQueue)}
	}
}

// checkScheduledProfile reports a schedule with a profile that the plan does not declare.
func checkScheduledProfile(k *compiler, s *walk.Schedule) {
	if s != nil && s.Profile != "" && !slices.Contains(k.d.Profiles, s.Profile) {
		k.r.Error(k.d.tree.Get("schedule").Get("profile"), "", "profile.unknown",
			k.r.Suggest(s.Profile, func() []string { return slices.Clone(k.d.Profiles) }, message.New("declare it under profiles:")),
			"schedule: unknown profile %s", jsonvalue.Quote(s.Profile))
	}
}

// validLabel reports whether a run can have a label with this name.
func validLabel(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsAny(name, "=\x00\n\r")
}
