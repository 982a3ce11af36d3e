package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"reflect"
	"time"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/tool"
)

// runtime contains everything that the configuration determines while the daemon runs. A reload
// builds another one completely and swaps it at once. A runtime never changes.
type runtime struct {
	cfg   config.Config // the active configuration; settings that only a start applies have the value of the start
	later []string      // keys that take effect at the next start
	at    time.Time     // when it was applied

	secrets  *assemble.Secrets
	callback engine.Callback
	tools    *tool.Box
	registry *handler.Registry
	asker    *planning.Service
	upkeep   *upkeep
	access   auth.Access
	reach    notify.Reach
	cert     *tls.Certificate // nil: no TLS
}

// now returns the active runtime.
func (s *server) now() *runtime { return s.runtime.Load() }

// setup is the part of a runtime that the engine uses.
func (r *runtime) setup() engine.Setup {
	return engine.Setup{Registry: r.registry, Secrets: r.secrets, Callback: r.callback, MaxRunning: r.cfg.Engine.MaxRunning,
		MaxNodes: r.cfg.Engine.MaxNodes, SeparateApprovals: r.cfg.Approvals.Separate, ConsentTimeout: r.cfg.Approvals.Timeout,
		MaxReplans: assemble.MaxReplans(r.cfg.Planner)}
}

// plain builds the parts of a runtime that need no engine and start nothing: secrets, rules,
// access, and notifications.
func (s *server) plain(cfg config.Config, before *runtime) (*runtime, error) {
	r := &runtime{cfg: cfg, at: time.Now().UTC(), callback: assemble.Callback(s.store, cfg)}
	var err error
	if r.secrets, err = assemble.NewSecretsIn(s.masks, cfg); err != nil {
		return nil, err
	}
	if r.upkeep, err = upkeepOf(s.Dir, cfg); err != nil {
		return nil, exit.With(exit.SysConfig, err)
	}
	if r.access, err = s.accessOf(cfg, before); err != nil {
		return nil, err
	}
	if r.reach, err = s.reachOf(cfg); err != nil {
		return nil, err
	}
	return r, nil
}

// accessOf returns how people log in. If the configuration of the identity provider has not
// changed, the provider stays the same, so that logins in progress can finish.
func (s *server) accessOf(cfg config.Config, before *runtime) (auth.Access, error) {
	a := auth.Access{NoPassword: !cfg.Login.Passwords(), SecondFactorFor: cfg.Login.MustHaveSecondFactor()}
	o := cfg.Login.OIDC
	if o == nil {
		return a, nil
	}
	a.CreateUsers = o.CreateUsers == nil || *o.CreateUsers
	if before != nil && reflect.DeepEqual(before.cfg.Login.OIDC, o) && o.ClientSecretFile == "" &&
		o.CAFile == "" { // the files may have changed
		a.Provider = before.access.Provider
		return a, nil
	}
	p, err := newIdentityProvider(o, s.log)
	if err != nil {
		return a, err
	}
	a.Provider = p
	return a, nil
}

// reachOf returns the notification channels and their network rules.
func (s *server) reachOf(cfg config.Config) (notify.Reach, error) {
	channels, err := cfg.Notifications.Build()
	if err != nil {
		return notify.Reach{}, err
	}
	dialer, err := tool.NewDialer(s.guard, cfg.Notifications.AllowPrivate, cfg.Notifications.Ports()...)
	if err != nil {
		return notify.Reach{}, exit.With(exit.SysConfig, err)
	}
	return notify.Reach{Channels: channels, Dialer: dialer, URL: cfg.Notifications.URL}, nil
}

// build builds a runtime for another configuration. It does not change the active one. After an
// error, it leaves nothing open.
func (s *server) build(ctx context.Context, next config.Config) (*runtime, error) {
	if err := s.checkAddresses(next); err != nil {
		return nil, fmt.Errorf("the next start would refuse it: %r", err)
	}
	before := s.now()
	cfg, later := next.Live(s.cfg)
	r, err := s.plain(cfg, before)
	if err != nil {
		return nil, err
	}
	r.later = later
	if cfg.Server.TLSCert != "" {
		if r.cert, err = readCertificate(cfg.Server.TLSCert, cfg.Server.TLSKey); err != nil {
			return nil, err
		}
	}
	if r.tools, r.registry, err = assemble.NewCatalog(ctx, s.store, cfg, r.secrets, s.masks.Logger(s.log), s.Safe, s.guard,
		before.tools, before.registry.Models()); err != nil {
		return nil, err
	}
	r.asker = assemble.NewAsker(s.engine, r.registry, r.tools, s.store, cfg)
	r.asker.OnPlanned(s.metrics.Planned)
	return r, nil
}

// swap replaces the active runtime. Active steps keep the previous one, and its tool servers close
// when the last of those steps ends.
func (s *server) swap(r *runtime) error {
	before := s.now()
	// Everything that can fail comes first. Building has checked all of it, so it does not fail.
	if err := s.auth.Reconfigure(r.access); err != nil {
		return domain.Errorf(domain.CodeInternal, "apply the login settings: %r", err)
	}
	if err := s.notifier.Reconfigure(r.reach); err != nil {
		return domain.Errorf(domain.CodeInternal, "apply the notification settings: %r", err)
	}
	s.guard.Files(s.guarded(r.cfg)...) // before a tool can read them
	gone, err := s.engine.Reconfigure(r.setup())
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "apply the engine's limits: %r", err)
	}
	r.tools.Adopt()
	r.registry.Models().Succeeded(before.registry.Models())
	s.runtime.Store(r)
	s.system.reconfigure(r.upkeep)
	s.guard.Only(s.guarded(r.cfg)...) // releases the files of the previous one
	if s.startup.cert != nil && r.cert != nil {
		s.startup.cert.use(r.cfg.Server.TLSCert, r.cfg.Server.TLSKey, r.cert)
	}
	if len(r.reach.Channels) > 0 {
		s.startNotifying()
	}
	s.retire(before.tools, gone)
	return nil
}

// retire closes a toolbox when no step uses it any more. A server that several toolboxes used in
// turn belongs to the last one, so they close in order.
func (s *server) retire(tools *tool.Box, gone <-chan struct{}) {
	earlier, closed := s.retired, make(chan struct{})
	s.retired = closed
	s.retiring.Go(func() {
		defer close(closed)
		for _, done := range []<-chan struct{}{gone, earlier} {
			if done == nil {
				continue
			}
			select {
			case <-done:
			case <-s.ended:
			}
		}
		tools.Close()
	})
}
