package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/kairosd/kairosd/internal/handler"
)

// The audit log records every start of the daemon. A start after a crash has its own result.
const (
	startAction  = "daemon.start"
	afterCrash   = "unclean"
	startsWindow = 7 * 24 * time.Hour
)

// noteStart records the start with a digest of the models and agents. A failure that is new since
// another model or prompt was configured can then be recognized.
func (s *system) noteStart(ctx context.Context, with *handler.Models) error {
	detail := startedWith(with)
	detail["runs"] = map[string]string{"unfinished": strconv.FormatInt(s.unfinished, 10)}
	raw, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	r := domain.AuditRecord{
		Action: startAction,
		Actor:  domain.System.Name,
		Source: domain.System.Source,
		Object: "version:" + buildinfo.Read().Version,
		Detail: raw,
	}
	if s.unclean {
		r.Reason = afterCrash
	}
	return s.store.Audit(ctx, r)
}

// startedWith describes the models and agents of a configuration: the model of each provider, and a
// digest of each agent's instructions. The audit log contains no text of a configuration.
func startedWith(m *handler.Models) map[string]map[string]string {
	out := map[string]map[string]string{domain.UseProvider: {}, domain.UseAgent: {}}
	for _, p := range m.ProviderInfos() {
		out[domain.UseProvider][p.Name] = strings.TrimSpace(p.Type + " " + p.Model)
	}
	for _, a := range m.AgentInfos() {
		out[domain.UseAgent][a.ID] = a.Version()
	}
	return out
}

// countUnfinished records, before the engine opens, how many runs it will resume.
func (s *system) countUnfinished(ctx context.Context) error {
	counts, err := s.store.RunCounts(ctx)
	s.unfinished = counts.ByStatus[domain.RunRunning] + counts.ByStatus[domain.RunQueued]
	return err
}

// recentStarts adds the starts of the last week, how many followed a crash, and the runs that they
// resumed. It reads at most 200 starts.
func (s *system) recentStarts(ctx context.Context, i *domain.Server) error {
	l, err := s.store.AuditEvents(
		ctx,
		domain.AuditFilter{Action: startAction, Since: time.Now().Add(-startsWindow), Page: domain.Page{Limit: 200}},
	)
	for _, ev := range l.Items {
		i.StartTimes = append(i.StartTimes, ev.At)
		if ev.Reason == afterCrash {
			i.UncleanStarts++
		}
		var detail struct {
			Runs struct {
				Unfinished int64 `json:"unfinished,string"`
			} `json:"runs"`
		}
		if len(ev.Detail) > 0 && json.Unmarshal(ev.Detail, &detail) == nil { // older starts did not record it
			i.Continued += detail.Runs.Unfinished
		}
	}
	i.Starts = len(l.Items)
	return err
}

// checkAccess reports rows that another program added or changed to grant access.
func (s *system) checkAccess(ctx context.Context) error {
	problems, err := s.store.CheckAccess(ctx)
	if err != nil || len(problems) == 0 {
		return err
	}
	s.access = problems[0]
	s.Logger.Error("another program changed accounts or approvals in the database", "problems", problems)
	return s.store.Audit(
		ctx,
		domain.AuditRecord{Action: "access.check", Actor: domain.System.Name, Source: domain.System.Source, Result: "failed",
			Reason: strings.Join(problems[:min(len(problems), 5)], "; ")},
	)
}

// checkClock compares the machine's clock with the newest record.
func (s *system) checkClock(ctx context.Context) error {
	last, err := s.store.LastEvent(ctx)
	if err != nil || last == 0 {
		return err
	}
	events, err := s.store.AuditLog(ctx, last-1, 1)
	if err != nil {
		return err
	}
	if behind := time.Until(events[0].At); behind > 5*time.Minute {
		s.clock = domain.Messagef(
			"The clock of this machine was %s behind the newest record when kairosd started. Timers and sessions may end late.",
			behind.Round(time.Minute),
		)
		s.Logger.Error("the clock is behind the newest record", "by", behind.String())
	}
	return nil
}
