package notify

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// backoff is the wait after each failed attempt. After the last one, the message has failed.
var backoff = []time.Duration{
	10 * time.Second,
	time.Minute,
	5 * time.Minute,
	30 * time.Minute,
	2 * time.Hour,
	6 * time.Hour,
	12 * time.Hour,
}

// sendAll sends messages, in order within each channel. A channel that does not respond does not
// delay the others.
func (s *Service) sendAll(ctx context.Context, due []domain.Delivery) error {
	byChannel := map[string][]domain.Delivery{}
	for _, d := range due {
		byChannel[d.Channel] = append(byChannel[d.Channel], d)
	}
	failed := make(chan error, len(byChannel))
	var wg sync.WaitGroup
	for _, list := range byChannel {
		wg.Go(func() {
			for _, d := range list {
				if err := s.send(ctx, &d); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed // nil if the channel is empty
}

// send makes one attempt and stores its outcome.
func (s *Service) send(ctx context.Context, d *domain.Delivery) error {
	reach := s.reach.Load()
	i := slices.IndexFunc(reach.Channels, func(c Channel) bool { return c.Name == d.Channel })
	d.Attempts++
	stopping := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	// When the daemon stops, an active attempt may finish, because otherwise the message would be
	// sent twice.
	defer context.AfterFunc(stopping, func() { time.AfterFunc(grace, cancel) })()
	var err error
	switch {
	case i < 0:
		err = &refusal{errors.New("the channel is no longer configured")}
	case reach.Channels[i].Webhook != nil:
		err = s.post(ctx, reach.Dialer, reach.Channels[i].Webhook, *d)
	default:
		err = s.mail(ctx, reach.Dialer, reach.Channels[i].Email, *d)
	}
	if stopping.Err() != nil && err != nil {
		return stopping.Err() // the next start sends it
	}
	now := s.c.Now().UTC()
	d.Error = ""
	var final *refusal
	switch {
	case err == nil:
		d.Status, d.EndedAt = domain.DeliverySent, now
	case errors.As(err, &final) || d.Attempts > len(backoff):
		d.Status, d.EndedAt, d.Error = domain.DeliveryFailed, now, short(err)
	default:
		wait := backoff[d.Attempts-1]
		if later, ok := errors.AsType[*later](err); ok {
			wait = max(wait, min(later.wait, 24*time.Hour))
		}
		d.DueAt, d.Error = now.Add(wait), short(err)
	}
	if err != nil {
		s.c.Log.Warn(
			"notification not delivered",
			"channel",
			d.Channel,
			"message",
			d.ID,
			"attempt",
			d.Attempts,
			"state",
			d.Status,
			"err",
			err,
		)
	}
	return s.c.Store.SettleDelivery(ctx, *d)
}

// Test sends a test message immediately and returns its delivery.
func (s *Service) Test(ctx context.Context, actor domain.Actor, channel string) (domain.Delivery, error) {
	if !slices.ContainsFunc(s.reach.Load().Channels, func(c Channel) bool { return c.Name == channel }) {
		return domain.Delivery{}, domain.Errorf(domain.CodeNotFound, "notification channel %q not found", channel)
	}
	d, err := s.message(channel, domain.Notification{Kind: domain.NotificationTest, CreatedAt: s.c.Now().UTC(),
		Text: "A test message of kairosd, sent by " + actor.Name + "."})
	if err != nil {
		return d, err
	}
	d.DueAt = d.CreatedAt.Add(time.Minute) // if this process crashes now, the daemon retries
	if err := s.c.Store.AddDeliveries(ctx, 0, []domain.Delivery{d}, Quiet); err != nil {
		return d, err
	}
	if err := s.send(ctx, &d); err != nil {
		return d, err
	}
	return d, s.c.Store.Audit(
		ctx,
		domain.AuditRecord{
			Action:  "notification.test",
			Actor:   actor.Name,
			Source:  actor.Source,
			Request: actor.Request,
			Object:  "channel:" + channel,
			Result:  map[bool]string{true: "ok", false: "failed"}[d.Status == domain.DeliverySent],
			Reason:  d.Error,
		},
	)
}

// Channels lists the channels, each with its newest messages.
func (s *Service) Channels(ctx context.Context, last int) ([]domain.ChannelInfo, error) {
	channels := s.reach.Load().Channels
	out := make([]domain.ChannelInfo, 0, len(channels))
	for _, c := range channels {
		info := domain.ChannelInfo{Name: c.Name, Type: "email", On: c.On, Plans: c.Plans}
		if c.Webhook != nil {
			info.Type, info.Target, info.Signed = "webhook", c.Webhook.host(), c.Webhook.Secret != ""
		} else {
			info.Target = strings.Join(c.Email.To, ", ")
		}
		var err error
		if info.Last, err = s.c.Store.Deliveries(ctx, c.Name, last); err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// refusal is an error that a retry cannot fix.
type refusal struct{ error }

// later is an error with the time to wait that the receiver requested.
type later struct {
	error
	wait time.Duration
}

func short(err error) string {
	s := strings.ToValidUTF8(err.Error(), "")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
