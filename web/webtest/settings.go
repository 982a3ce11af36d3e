package webtest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/store"
)

// settings implements the settings of a server that uses most features.
type settings struct {
	notify *notify.Service
	store  *store.Store
}

func newSettings(tb testing.TB, on *store.Store) *settings {
	tb.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	tb.Cleanup(receiver.Close)
	n, err := notify.New(notify.Config{Store: on, Dialer: &net.Dialer{Timeout: 10 * time.Second}, Channels: []notify.Channel{
		{
			Name:    "ops",
			Webhook: &notify.Webhook{URL: receiver.URL + "/secret-path", Secret: "s"},
		}, {Name: `mail <b>`, Plans: []string{"ledger"}, Email: &notify.Email{Server: "127.0.0.1:1", TLS: "none",
			From: "k@example.com", To: []string{"ops@example.com"}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	return &settings{n, on}
}

func (s *settings) Settings(ctx context.Context) (domain.Settings, error) {
	channels, err := s.notify.Channels(ctx, 20)
	return domain.Settings{
		File: "/etc/kairos/kairos.yaml",
		Access: []domain.Setting{
			{Key: "--listen", Value: "127.0.0.1:8080", Origin: "command line"},
			{Key: "server.hosts", Value: "kairos.example.com", Origin: "file"},
			{Key: "login.password", Value: "true", Origin: "default"},
		},
		Effective: []domain.Setting{
			{Key: "--listen", Value: "127.0.0.1:8080", Origin: "command line"},
			{Key: "agents.writer.system_prompt", Value: Hostile, Origin: "file"},
			{Key: "providers.claude.api_key_env", Value: "KEY (not set)", Origin: "environment"},
			{Key: "approvals.separate", Value: "false", Origin: "default"},
		},
		Retention: domain.RetentionSettings{
			Rules: []domain.RetentionRow{
				{Completed: domain.Millis(90 * 24 * time.Hour), Failed: domain.Millis(365 * 24 * time.Hour), Keep: 10000},
				{Plan: "invoice", Completed: domain.Millis(3650 * 24 * time.Hour)},
			},
			Every: domain.Millis(time.Hour),
		},
		Secrets: []domain.SecretInfo{
			{
				Name:      "BANK",
				Source:    "file /etc/kairos/bank",
				Tools:     []string{"http"},
				Hosts:     []string{"bank.example.com"},
				ChangedAt: time.Now().Add(-time.Hour),
				LoadedAt:  time.Now().Add(-2 * time.Hour),
				Pending:   true,
				Rotates:   true,
				Plans:     []string{"ledger"},
				UsedBy:    []domain.SecretUse{{Kind: "provider", Name: "script"}},
			},
			{Name: "UNUSED", Source: "environment variable UNUSED"},
			{
				Name:   "KEY",
				Source: "environment variable KEY",
				UsedBy: []domain.SecretUse{{Kind: "channel", Name: "ops"}, {Kind: "login", Name: "oidc"}},
			},
		},
		Notifications: channels,
	}, err
}

func (s *settings) Retain(ctx context.Context, actor domain.Actor, reason string, dryRun bool) (domain.RetentionResult, error) {
	r, err := s.store.Retain(ctx, domain.Retention{Default: domain.RetentionRule{Keep: 1}}, actor, dryRun)
	if err == nil && !dryRun {
		err = s.store.Audit(
			ctx,
			domain.AuditRecord{
				Action:  "store.retention",
				Actor:   actor.Name,
				Source:  actor.Source,
				Request: actor.Request,
				Reason:  reason,
			},
		)
	}
	return r, err
}

func (s *settings) TestChannel(ctx context.Context, actor domain.Actor, channel string) (domain.Delivery, error) {
	return s.notify.Test(ctx, actor, channel)
}

// RotateSecret accepts every new value of the secret BANK.
func (s *settings) RotateSecret(ctx context.Context, actor domain.Actor, name, reason string) error {
	if name != "BANK" {
		return nil
	}
	return s.store.Audit(
		ctx,
		domain.AuditRecord{
			Action:  "secret.rotate",
			Actor:   actor.Name,
			Source:  actor.Source,
			Request: actor.Request,
			Object:  "secret:" + name,
			Reason:  reason,
		},
	)
}
