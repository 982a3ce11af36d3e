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

// configReload is the audit action of a configuration reload that succeeded or failed.
const configReload = "config.reload"

// byHangup is the actor of a reload by signal.
const byHangup = "SIGHUP"

// hangups handles SIGHUP until stop is called. Each signal reloads the configuration while runs
// continue, either completely or not at all, and also the certificate and the files of secrets.
// hangups catches SIGPIPE, so that a closed log does not end the daemon. Commands do not inherit
// either signal.
func (s *server) hangups(ctx context.Context) (stop func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // it only needs to be caught
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
		return // the daemon stops; its next start reads the configuration
	}
	record := domain.AuditRecord{
		Action: configReload,
		Actor:  domain.System.Name,
		Source: domain.System.Source,
		Object: "config:" + s.ConfigFile,
		Reason: byHangup,
	}
	w := s.now()
	detail := map[string]any{"before": before.cfg.Sum, "after": w.cfg.Sum}
	s.system.reloaded(err)
	if err != nil {
		s.log.Error(
			"configuration reload failed; keeping the previous configuration",
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
		s.log.Info("configuration reloaded", "file", s.ConfigFile, "changed", strings.Join(changed, ", "), "sum", w.cfg.Sum)
		if len(w.later) > 0 {
			s.log.Warn("some settings take effect at the next start", "keys", strings.Join(w.later, ", "))
		}
		s.rotated(w.secrets.ChangedSince(before.secrets))
	}
	if record.Detail, err = json.Marshal(detail); err == nil {
		err = s.store.Audit(context.WithoutCancel(ctx), record)
	}
	if err != nil {
		s.log.Error("record the configuration reload", "err", err)
	}
}

// reload applies the current configuration file. An error changes nothing.
func (s *server) reload(ctx context.Context) error {
	next, err := config.Load(s.ConfigFile)
	if err != nil {
		return err
	}
	w, err := s.build(ctx, next)
	if err != nil {
		return err
	}
	if err := s.swap(w); err != nil {
		w.tools.Close()
		return err
	}
	return nil
}

// renew reads the secrets and the certificate again when the configuration could not be applied, so
// that a mistake in it does not let a certificate expire. Each is renewed on its own.
func (s *server) renew() {
	changed, err := s.now().secrets.RotateAll()
	s.rotated(changed)
	if err != nil {
		s.log.Error("secret cannot be read; keeping its previous value", "err", err)
	}
	if s.startup.cert == nil {
		return
	}
	if err := s.startup.cert.load(); err != nil {
		s.log.Error("certificate cannot be read; keeping the previous one", "err", err)
		return
	}
	s.log.Info("certificate reloaded")
}

// rotated records the secrets that have a new value.
func (s *server) rotated(names []string) {
	for _, name := range names {
		s.log.Info("secret has a new value", "secret", name)
		record := domain.AuditRecord{
			Action: secretRotated,
			Actor:  domain.System.Name,
			Source: domain.System.Source,
			Object: "secret:" + name,
			Reason: byHangup,
		}
		if err := s.store.Audit(context.Background(), record); err != nil {
			s.log.Error("record a new secret", "secret", name, "err", err)
		}
	}
}

// reloaded records whether the configuration was applied. While it was not, every page shows a
// notice.
func (s *system) reloaded(err error) {
	var text domain.Message
	if err != nil {
		text = domain.Messagef(
			"The configuration %s could not be applied at %s: %s. The previous configuration stays active.",
			cmp.Or(s.configFile, "(none)"),
			time.Now().UTC().Format("2006-01-02 15:04 UTC"),
			s.shown(err.Error()),
		)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configFault = text
}

// shown removes secrets from a text.
func (s *system) shown(text string) string {
	if s.mask != nil {
		text = string(s.mask([]byte(text)))
	}
	return strings.TrimRight(strings.Join(strings.Fields(text), " "), ".")
}
