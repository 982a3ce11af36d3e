package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
)

// configReload is the record of a configuration that was, or was not, taken up.
const configReload = "config.reload"

// byHangup is who did what a signal did: whoever may send one.
const byHangup = "SIGHUP"

// hangups answers SIGHUP until stop is called: the configuration is read again and
// taken up while runs go on, all of it or nothing of it, and with it the
// certificate and the files of secrets. SIGPIPE is caught, so that a log that
// nobody reads does not end the daemon (O13, O15); neither is inherited by commands.
func (s *server) hangups(ctx context.Context) (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // that it is caught is all
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-s.hup:
				s.hungUp(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		signal.Stop(broken)
		cancel()
		<-ended
	}
}

func (s *server) hungUp(ctx context.Context) {
	before := s.now()
	err := s.reload(ctx)
	if ctx.Err() != nil {
		return // it stops; the next start takes up what there is
	}
	record := domain.AuditRecord{
		Action:  configReload,
		Actor:   domain.System.Name,
		Surface: domain.System.Surface,
		Object:  "config:" + s.ConfigFile,
		Reason:  byHangup,
	}
	w := s.now()
	detail := map[string]any{"before": before.cfg.Sum, "after": w.cfg.Sum}
	s.system.reloaded(err)
	if err != nil {
		s.log.Error(
			"SIGHUP: the configuration is not taken up; the one before stays in force",
			"file",
			s.ConfigFile,
			"err",
			s.system.shown(err.Error()),
		)
		record.Result, record.Reason = "failed", byHangup+": "+s.system.shown(err.Error())
		s.renew()
	} else {
		changed := config.Changed(before.cfg, w.cfg)
		for kind, versions := range startedWith(w.registry.Models()) {
			detail[kind] = versions
		}
		detail["changed"], detail["nextStart"] = append([]string{}, changed...), append([]string{}, w.later...)
		s.log.Info("SIGHUP: the configuration is in force", "file", s.ConfigFile, "changed", strings.Join(changed, ", "), "sum", w.cfg.Sum)
		if len(w.later) > 0 {
			s.log.Warn("SIGHUP: some of it takes effect at the next start", "keys", strings.Join(w.later, ", "))
		}
		s.rotated(w.secrets.ChangedSince(before.secrets))
	}
	if record.Detail, err = json.Marshal(detail); err == nil {
		err = s.store.Audit(context.WithoutCancel(ctx), record)
	}
	if err != nil {
		s.log.Error("record a configuration", "err", err)
	}
}

// reload takes up the configuration as its file is now. With an error nothing has
// changed.
func (s *server) reload(ctx context.Context) error {
	next, err := config.Load(s.ConfigFile)
	if err != nil {
		return err
	}
	w, err := s.build(ctx, next)
	if err != nil {
		return err
	}
	if err := s.exchange(w); err != nil {
		w.tools.Close()
		return err
	}
	return nil
}

// renew reads again what is no configuration, where that is not taken up: a mistake
// in it must not let a certificate run out. Each is renewed by itself.
func (s *server) renew() {
	changed, err := s.now().secrets.RotateAll()
	s.rotated(changed)
	if err != nil {
		s.log.Error("SIGHUP: a secret cannot be read; its value stays", "err", err)
	}
	if s.front.cert == nil {
		return
	}
	if err := s.front.cert.load(); err != nil {
		s.log.Error("SIGHUP: the certificate cannot be read; the one before stays", "err", err)
		return
	}
	s.log.Info("SIGHUP: the certificate was read again")
}

// rotated records secrets that have a new value.
func (s *server) rotated(names []string) {
	for _, name := range names {
		s.log.Info("SIGHUP: the secret has a new value", "secret", name)
		record := domain.AuditRecord{
			Action:  secretRotated,
			Actor:   domain.System.Name,
			Surface: domain.System.Surface,
			Object:  "secret:" + name,
			Reason:  byHangup,
		}
		if err := s.store.Audit(context.Background(), record); err != nil {
			s.log.Error("record a new secret", "secret", name, "err", err)
		}
	}
}

// reloaded notes whether the configuration was taken up; while it was not, every
// page says so.
func (s *system) reloaded(err error) {
	var text domain.Message
	if err != nil {
		text = domain.Messagef(
			"The configuration %s was not taken up at %s: %s. What was in force before stays in force.",
			cmp.Or(s.configFile, "(none)"),
			time.Now().UTC().Format("2006-01-02 15:04 UTC"),
			s.shown(err.Error()),
		)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notTakenUp = text
}

// shown is a text without secrets.
func (s *system) shown(text string) string {
	if s.mask != nil {
		text = string(s.mask([]byte(text)))
	}
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".")
}
