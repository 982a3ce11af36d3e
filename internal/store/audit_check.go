package store

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Records of a verification: that somebody asked for one, and its result, whose detail
// is the [domain.AuditCheck].
const (
	actionVerifyBegin = "audit.verify.begin"
	actionVerify      = "audit.verify"
)

// keptProblems bounds the problems that a record names; their number is exact.
const keptProblems = 20

// AuditChecker verifies the audit log when somebody asks, one verification at a
// time, and records what it found in the log itself.
type AuditChecker struct {
	s   *Store
	log *slog.Logger
	ask chan domain.Actor

	mu  sync.Mutex
	now *domain.AuditCheck // under way
}

// NewAuditChecker makes a checker; Run carries out what is asked of it.
func NewAuditChecker(s *Store, log *slog.Logger) *AuditChecker {
	return &AuditChecker{s: s, log: log, ask: make(chan domain.Actor, 1)}
}

// Run verifies whenever it is asked, until the context ends. It begins with what an
// earlier process was asked for and did not finish.
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

// unfinished finds who asked for a verification that has no result; the zero value:
// nobody.
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
	return domain.Actor{Name: e.Actor, Surface: e.Surface, Request: e.Request}, nil
}

// Busy gives CodeConflict while a verification is under way.
func (c *AuditChecker) Busy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		return nil
	}
	return domain.Errorf(domain.CodeConflict, "verification of the chain has been running since %s", c.now.Began.Format(time.RFC3339)).
		Suggest("wait for its result")
}

// Begin begins a verification of the whole log, unless one is under way, and gives the
// one that is under way then.
func (c *AuditChecker) Begin(by domain.Actor) domain.AuditCheck {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		c.now = &domain.AuditCheck{Began: c.s.now().UTC(), By: by.Name, Problems: []string{}}
		c.ask <- by // there is room: one is under way at most
	}
	return *c.now
}

// AuditCheck is the verification under way, else the last one that was asked for;
// the zero value if there was none.
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
		Surface: actor.Surface,
		Request: actor.Request,
		Detail:  domain.RawJSON(core.EncodeJSON(check)),
	}
	if check.Found > 0 {
		record.Result, record.Reason = "failed", check.Problems[0]
		c.log.Error("the audit log failed its check", "problem", check.Problems[0], "problems", check.Found)
	}
	return c.s.Audit(context.WithoutCancel(ctx), record)
}
