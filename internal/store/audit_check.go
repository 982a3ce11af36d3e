package store

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Audit actions of a requested verification, and of its result, whose detail is the
// [domain.AuditCheck].
const (
	actionVerifyBegin = "audit.verify.begin"
	actionVerify      = "audit.verify"
)

// keptProblems limits the problems in a record. Their number is exact.
const keptProblems = 20

// AuditChecker verifies the audit log on request, one verification at a time, and records the
// result in the log.
type AuditChecker struct {
	s   *Store
	log *slog.Logger
	ask chan domain.Actor

	mu  sync.Mutex
	now *domain.AuditCheck // in progress
}

// NewAuditChecker makes a checker. Run executes the requested verifications.
func NewAuditChecker(s *Store, log *slog.Logger) *AuditChecker {
	return &AuditChecker{s: s, log: log, ask: make(chan domain.Actor, 1)}
}

// Run executes requested verifications until the context ends. It starts with a request that an
// earlier process did not finish.
func (c *AuditChecker) Run(ctx context.Context) {
	if by, err := c.unfinished(ctx); err != nil {
		c.log.Error("find an unfinished verification of the audit log", "err", err)
	} else if by.Name != "" {
		c.Begin(by)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case actor := <-c.ask:
			if err := c.check(ctx, actor); err != nil && ctx.Err() == nil {
				c.log.Error("verify the audit log", "err", err)
			}
			c.mu.Lock()
			c.now = nil
			c.mu.Unlock()
		}
	}
}

// unfinished returns the actor of a requested verification that has no result, or the zero value.
func (c *AuditChecker) unfinished(ctx context.Context) (domain.Actor, error) {
	list, err := c.s.AuditEvents(
		ctx,
		domain.AuditFilter{
			Actions: []string{actionVerify, actionVerifyBegin},
			Exclude: domain.AuditExclusion{Results: []string{"denied"}},
			Page:    domain.Page{Limit: 1},
		},
	)
	if err != nil || len(list.Items) == 0 || list.Items[0].Action == actionVerify {
		return domain.Actor{}, err
	}
	e := list.Items[0]
	return domain.Actor{Name: e.Actor, Source: e.Source, Request: e.Request}, nil
}

// Busy reports whether a verification is in progress.
func (c *AuditChecker) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now != nil
}

// Begin starts a verification of the whole log, unless one is in progress. It returns the one in
// progress.
func (c *AuditChecker) Begin(by domain.Actor) domain.AuditCheck {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		c.now = &domain.AuditCheck{Began: c.s.now().UTC(), By: by.Name, Problems: []string{}}
		c.ask <- by // never blocks: at most one is in progress
	}
	return *c.now
}

// AuditCheck returns the verification in progress, or else the last requested one, or the zero
// value.
func (c *AuditChecker) AuditCheck(ctx context.Context) (domain.AuditCheck, error) {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	if now != nil {
		return *now, nil
	}
	check := domain.AuditCheck{Problems: []string{}}
	list, err := c.s.AuditEvents(
		ctx,
		domain.AuditFilter{Action: actionVerify, Exclude: domain.AuditExclusion{Results: []string{"denied"}}, Page: domain.Page{Limit: 1}},
	)
	if err != nil || len(list.Items) == 0 {
		return check, err
	}
	err = json.Unmarshal(list.Items[0].Detail, &check)
	return check, err
}

func (c *AuditChecker) check(ctx context.Context, actor domain.Actor) error {
	began := c.s.now().UTC()
	r, err := c.s.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	check := domain.AuditCheck{
		Began:    began,
		Ended:    c.s.now().UTC(),
		By:       actor.Name,
		Events:   r.Events,
		Links:    r.Links,
		Last:     r.Last,
		Found:    len(r.Problems),
		Problems: append([]string{}, r.Problems[:min(len(r.Problems), keptProblems)]...),
	}
	record := domain.AuditRecord{
		Action:  actionVerify,
		Actor:   actor.Name,
		Source:  actor.Source,
		Request: actor.Request,
		Detail:  domain.RawJSON(core.EncodeJSON(check)),
	}
	if check.Found > 0 {
		record.Result, record.Reason = "failed", check.Problems[0]
		c.log.Error("the audit log failed its check", "problem", check.Problems[0], "problems", check.Found)
	}
	return c.s.Audit(context.WithoutCancel(ctx), record)
}
