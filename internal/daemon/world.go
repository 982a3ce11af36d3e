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

// world is everything that a configuration decides while the daemon works. One is
// built as a whole beside the one in force, and takes its place in one moment
// (O13); it is not changed after that.
type world struct {
	cfg   config.Config // in force: of what a start decides, what the start decided
	later []string      // keys that take effect at the next start
	at    time.Time     // when it was taken up

	secrets  *assemble.Secrets
	tools    *tool.Box
	registry *handler.Registry
	asker    *planning.Service
	upkeep   *upkeep
	access   auth.Access
	reach    notify.Reach
	cert     *tls.Certificate // nil: no TLS
}

// now is the world in force.
func (s *server) now() *world { return s.world.Load() }

// setup is what the engine is told of a world.
func (w *world) setup() engine.Setup {
	return engine.Setup{Registry: w.registry, Secrets: w.secrets, MaxRunning: w.cfg.Engine.MaxRunning, MaxNodes: w.cfg.Engine.MaxNodes,
		SeparateApprovals: w.cfg.Approvals.Separate, ConsentTimeout: w.cfg.Approvals.Timeout,
		MaxReplans: assemble.MaxReplans(w.cfg.Planner)}
}

// plain builds what of a world needs no engine and starts nothing: its secrets, its
// rules, who may come in and who is told.
func (s *server) plain(cfg config.Config, before *world) (*world, error) {
	w := &world{cfg: cfg, at: time.Now().UTC()}
	var err error
	if w.secrets, err = assemble.NewSecretsIn(s.masks, cfg); err != nil {
		return nil, err
	}
	if w.upkeep, err = upkeepOf(s.Dir, cfg); err != nil {
		return nil, exit.With(exit.SysConfig, err)
	}
	if w.access, err = s.accessOf(cfg, before); err != nil {
		return nil, err
	}
	if w.reach, err = s.reachOf(cfg); err != nil {
		return nil, err
	}
	return w, nil
}

// accessOf is how people come in. A provider that is configured as before is the
// same one: logins that are half-way there come to their end.
func (s *server) accessOf(cfg config.Config, before *world) (auth.Access, error) {
	a := auth.Access{NoPassword: !cfg.Login.Passwords(), SecondFactorFor: cfg.Login.MustHaveSecondFactor()}
	o := cfg.Login.OIDC
	if o == nil {
		return a, nil
	}
	a.CreateUsers = o.CreateUsers == nil || *o.CreateUsers
	if before != nil && reflect.DeepEqual(before.cfg.Login.OIDC, o) && o.ClientSecretFile == "" &&
		o.CAFile == "" { // files may hold something else now
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

// reachOf is who is told outside, and how.
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

// build makes the world of another configuration beside the one in force, which it
// does not touch. With an error, nothing of it is left.
func (s *server) build(ctx context.Context, next config.Config) (*world, error) {
	if err := checkAddress(s.listen.address, next); err != nil {
		return nil, fmt.Errorf("the next start would refuse it: %w", err)
	}
	before := s.now()
	cfg, later := next.Live(s.cfg)
	w, err := s.plain(cfg, before)
	if err != nil {
		return nil, err
	}
	w.later = later
	if cfg.Server.TLSCert != "" {
		if w.cert, err = readCertificate(cfg.Server.TLSCert, cfg.Server.TLSKey); err != nil {
			return nil, err
		}
	}
	if w.tools, w.registry, err = assemble.NewCatalog(ctx, s.store, cfg, w.secrets, s.masks.Logger(s.log), s.Safe, s.guard,
		before.tools, before.registry.Models()); err != nil {
		return nil, err
	}
	w.asker = assemble.NewAsker(s.engine, w.registry, w.tools, s.store, cfg)
	w.asker.OnPlanned(s.metrics.Planned)
	return w, nil
}

// exchange puts a world in the place of the one in force. Nodes that run keep what
// they began with; its tool servers end when the last of those has.
func (s *server) exchange(w *world) error {
	before := s.now()
	// What can refuse comes first; none does, for each was checked when it was built.
	if err := s.auth.Reconfigure(w.access); err != nil {
		return domain.Errorf(domain.CodeInternal, "take up login: %w", err)
	}
	if err := s.notifier.Reconfigure(w.reach); err != nil {
		return domain.Errorf(domain.CodeInternal, "take up notifications: %w", err)
	}
	s.guard.Files(s.guarded(w.cfg)...) // before anybody may reach them
	gone, err := s.engine.Reconfigure(w.setup())
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "take up the engine's limits: %w", err)
	}
	w.tools.Adopt()
	w.registry.Models().Succeeded(before.registry.Models())
	s.world.Store(w)
	s.system.reconfigure(w.upkeep)
	s.guard.Only(s.guarded(w.cfg)...) // those of before are released
	if s.front.cert != nil && w.cert != nil {
		s.front.cert.use(w.cfg.Server.TLSCert, w.cfg.Server.TLSKey, w.cert)
	}
	if len(w.reach.Channels) > 0 {
		s.tell()
	}
	s.retire(before.tools, gone)
	return nil
}

// retire closes a toolbox when nobody works with it any more. A server that several
// have used in turn belongs to the last of them, so that they are closed in their
// order.
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
