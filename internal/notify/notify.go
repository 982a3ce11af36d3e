// Package notify sends notifications: signed webhooks and e-mail. It derives messages from the
// audit log and stores them before it sends them, so a crash loses none. Each message is sent at
// least once. Its id does not change, so receivers can drop duplicates.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Kinds are the kinds of notifications.
var Kinds = domain.NotificationKinds

// DefaultKinds are the kinds of a channel whose configuration lists none: those that require a
// person.
var DefaultKinds = []string{"failed", "approval", "in_doubt", "quarantined", "system"}

const (
	// Quiet is the time after a notification in which similar ones are only counted. After that,
	// one message reports their number.
	Quiet = 10 * time.Minute
	// keep is how long delivered and failed messages are listed.
	keep = 30 * 24 * time.Hour
	page = 200
	// grace is how long an attempt may continue after the daemon begins to stop.
	grace = 2 * time.Second
	// idle is the maximum pause between two passes.
	idle = 30 * time.Second
)

// Store stores messages, and reads the events from which they are derived.
type Store interface {
	LastEvent(ctx context.Context) (int64, error)
	Notified(ctx context.Context) (int64, error)
	Happenings(ctx context.Context, after int64, limit int) ([]domain.AuditEvent, error)
	FindRun(ctx context.Context, id string) (domain.Run, error)
	AddDeliveries(ctx context.Context, upTo int64, messages []domain.Delivery, quiet time.Duration) error
	AddSummary(ctx context.Context, of, message domain.Delivery) error
	Repeated(ctx context.Context, before time.Time, limit int) ([]domain.Delivery, error)
	DueDeliveries(ctx context.Context, now time.Time, limit int) ([]domain.Delivery, time.Time, error)
	SettleDelivery(ctx context.Context, d domain.Delivery) error
	Deliveries(ctx context.Context, channel string, limit int) ([]domain.Delivery, error)
	ForgetDeliveries(ctx context.Context, before time.Time) error
	Hold(ctx context.Context) (*domain.Hold, error)
	Audit(ctx context.Context, r domain.AuditRecord) error
}

// Channel is one destination of notifications.
type Channel struct {
	Name string
	// On lists the Kinds that the channel receives. If it is empty, it receives DefaultKinds.
	On []string
	// Plans restricts the channel to runs of these plans. If it is empty, there is no restriction.
	Plans []string
	// Exactly one of Webhook and Email is set.
	Webhook *Webhook
	Email   *Email
}

// Config configures a [Service]. Store and Dialer are required.
type Config struct {
	Store    Store
	Channels []Channel
	// Dialer connects to receivers. It rejects addresses that must not be reached.
	Dialer *net.Dialer
	// URL is the address of the dashboard, for links. If it is empty, messages have no links.
	URL string
	// Wake receives a value when there may be new events. If it is nil, the service checks every 30
	// seconds.
	Wake <-chan struct{}
	Log  *slog.Logger
	Now  func() time.Time // nil: time.Now
}

// Reach is the part of a [Config] that can change while the service runs.
type Reach struct {
	Channels []Channel
	Dialer   *net.Dialer
	URL      string
}

// Service sends notifications. It is safe for concurrent use.
type Service struct {
	c     Config // without the fields of Reach
	reach atomic.Pointer[Reach]
}

// New returns a Service.
func New(c Config) (*Service, error) {
	if c.Store == nil {
		return nil, errors.New("notify: Config needs Store and Dialer")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{c: c}
	return s, s.Reconfigure(Reach{c.Channels, c.Dialer, c.URL})
}

// Reconfigure replaces channels, dialer, and URL. A message that is being sent still goes to its
// old address. A waiting message goes to its channel as it is then.
func (s *Service) Reconfigure(r Reach) error {
	if r.Dialer == nil {
		return errors.New("notify: Config needs Store and Dialer")
	}
	r.Channels = slices.Clone(r.Channels)
	for i := range r.Channels {
		if len(r.Channels[i].On) == 0 {
			r.Channels[i].On = DefaultKinds
		}
	}
	s.reach.Store(&r)
	return nil
}

// Begin sets where notifications begin when a server has channels for the first time: they are not
// about earlier events. Later calls change nothing. Call it before runs can start, because an event
// before it has no notification.
func (s *Service) Begin(ctx context.Context) error {
	if len(s.reach.Load().Channels) == 0 {
		return nil
	}
	if at, err := s.c.Store.Notified(ctx); err != nil || at > 0 {
		return err
	}
	at, err := s.c.Store.LastEvent(ctx)
	if err != nil {
		return err
	}
	return s.c.Store.AddDeliveries(ctx, max(at, 1), nil, Quiet)
}

// Run sends notifications until the context ends.
func (s *Service) Run(ctx context.Context) {
	for ctx.Err() == nil {
		var next time.Time
		var err error
		if len(s.reach.Load().Channels) > 0 { // without channels, there is nothing to send
			next, err = s.Pass(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.c.Log.Error("notifications", "err", err)
			next = time.Time{}
		}
		pause := idle
		if !next.IsZero() {
			pause = max(0, min(pause, next.Sub(s.c.Now())))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.c.Wake:
		}
		timer.Stop()
	}
}

// Pass creates messages for new events, sends messages that are due, and returns when to run again
// (zero: after the next event). While the server is held after a restore, it sends nothing,
// because the messages may have been sent before.
func (s *Service) Pass(ctx context.Context) (time.Time, error) {
	if hold, err := s.c.Store.Hold(ctx); err != nil || hold != nil {
		return time.Time{}, err
	}
	if err := s.Begin(ctx); err != nil {
		return time.Time{}, err
	}
	if err := s.collect(ctx); err != nil {
		return time.Time{}, err
	}
	if err := s.repeated(ctx); err != nil {
		return time.Time{}, err
	}
	for {
		due, next, err := s.c.Store.DueDeliveries(ctx, s.c.Now(), page)
		if err != nil {
			return time.Time{}, err
		}
		if err := s.sendAll(ctx, due); err != nil {
			return time.Time{}, err
		}
		if len(due) < page {
			if err := s.c.Store.ForgetDeliveries(ctx, s.c.Now().Add(-keep)); err != nil {
				return time.Time{}, err
			}
			if len(due) > 0 {
				continue // failed messages have a new due time, which the next iteration reads
			}
			return next, nil
		}
	}
}

// collect turns new events into messages.
func (s *Service) collect(ctx context.Context) error {
	at, err := s.c.Store.Notified(ctx)
	if err != nil {
		return err
	}
	for {
		events, err := s.c.Store.Happenings(ctx, at, page)
		if err != nil || len(events) == 0 {
			return err
		}
		var messages []domain.Delivery
		for _, e := range events {
			more, err := s.about(ctx, e)
			if err != nil {
				return err
			}
			messages = append(messages, more...)
		}
		at = events[len(events)-1].Seq
		if err := s.c.Store.AddDeliveries(ctx, at, messages, Quiet); err != nil {
			return err
		}
	}
}

// kindOf returns the notification kind of an event, or "" if there is none.
func kindOf(e domain.AuditEvent) string {
	if strings.HasPrefix(e.Action, "store.") && e.Result == "failed" {
		return "system"
	}
	if e.Action == "budget.soft" || e.Action == "budget.degrade" {
		return "budget"
	}
	if e.Action != "run.status" {
		return ""
	}
	var d struct {
		Status     domain.RunStatus  `json:"status"`
		WaitReason domain.WaitReason `json:"waitReason"`
	}
	if json.Unmarshal(e.Detail, &d) != nil {
		return ""
	}
	kind := string(d.Status)
	if d.Status == domain.RunWaiting {
		kind = string(d.WaitReason)
	}
	if !slices.Contains(Kinds, kind) {
		return ""
	}
	return kind
}

// about creates the messages for one event.
func (s *Service) about(ctx context.Context, e domain.AuditEvent) ([]domain.Delivery, error) {
	kind := kindOf(e)
	reach := s.reach.Load()
	if kind == "" || !slices.ContainsFunc(reach.Channels, func(c Channel) bool { return slices.Contains(c.On, kind) }) {
		return nil, nil
	}
	m := domain.Notification{Kind: kind, CreatedAt: e.At}
	like := kind + "|" + e.Reason
	plan := ""
	if e.Run != "" {
		run, err := s.c.Store.FindRun(ctx, e.Run)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, nil // deleted in the meantime
		} else if err != nil {
			return nil, err
		}
		if run.Parent != nil || run.Dry() {
			return nil, nil // the parent run has its own notification; a dry run has none
		}
		plan = run.PlanKey
		m.Run = news(run, e, reach.URL)
		like = strings.Join([]string{kind, run.PlanKey, m.Run.Node, m.Run.Code}, "|")
	} else {
		m.Text = "kairosd: " + e.Reason
	}
	if m.Run != nil {
		m.Text = textOf(kind, m.Run)
	}
	var out []domain.Delivery
	for _, c := range reach.Channels {
		if !slices.Contains(c.On, kind) || len(c.Plans) > 0 && !slices.Contains(c.Plans, plan) {
			continue
		}
		d, err := s.message(c.Name, m)
		if err != nil {
			return nil, err
		}
		d.Seq = e.Seq
		if kind != "approval" && kind != "in_doubt" { // each of these needs a decision of its own
			d.GroupKey = like
		}
		out = append(out, d)
	}
	return out, nil
}

// news describes a run as it was at the time of the event.
func news(r domain.Run, e domain.AuditEvent, url string) *domain.NotificationRun {
	var was struct {
		Status     domain.RunStatus
		WaitReason domain.WaitReason
		Headline   string `json:"statusMessage"`
	}
	if json.Unmarshal(e.Detail, &was) != nil {
		was.Status = r.Status
	}
	n := &domain.NotificationRun{
		ID:         r.ID,
		Plan:       r.Plan(),
		Status:     was.Status,
		WaitReason: was.WaitReason,
		Headline:   cmp.Or(was.Headline, r.Headline),
	}
	if r.Error != nil {
		n.Node, n.Code = r.Error.Node, r.Error.Code
		n.Headline = cmp.Or(n.Headline, r.Error.Message)
	}
	if url != "" {
		n.URL = strings.TrimSuffix(url, "/") + "/runs/" + r.ID
	}
	return n
}

// message creates a message for a channel. It is due immediately.
func (s *Service) message(channel string, m domain.Notification) (domain.Delivery, error) {
	now := s.c.Now().UTC()
	m.ID = domain.NewID()
	body, err := json.Marshal(m)
	if err != nil {
		return domain.Delivery{}, fmt.Errorf("notify: %w", err)
	}
	return domain.Delivery{
		ID:        m.ID,
		Channel:   channel,
		Kind:      m.Kind,
		Body:      body,
		Status:    domain.DeliveryPending,
		DueAt:     now,
		CreatedAt: now,
	}, nil
}

// repeated sends the number of suppressed messages after their quiet time.
func (s *Service) repeated(ctx context.Context) error {
	list, err := s.c.Store.Repeated(ctx, s.c.Now().Add(-Quiet), page)
	if err != nil {
		return err
	}
	for _, d := range list {
		var m domain.Notification
		if err := json.Unmarshal(d.Body, &m); err != nil {
			return fmt.Errorf("notify: message %s: %w", d.ID, err)
		}
		m.CreatedAt, m.More = s.c.Now().UTC(), d.More
		m.Text = fmt.Sprintf("%d more like this: %s", d.More, m.Text)
		again, err := s.message(d.Channel, m)
		if err != nil {
			return err
		}
		again.GroupKey = d.GroupKey
		if err := s.c.Store.AddSummary(ctx, d, again); err != nil {
			return err
		}
	}
	return nil
}
