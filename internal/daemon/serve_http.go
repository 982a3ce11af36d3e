package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// answer swaps the startup server for the dashboard, and serves until the context ends or storage
// fails.
func (s *server) answer(ctx context.Context, handler, local http.Handler) error {
	socketServer := &http.Server{Handler: local, ReadHeaderTimeout: 5 * time.Second, ErrorLog: s.startup.server.ErrorLog}
	path := s.Dir.Socket()
	// Only one daemon holds the lock, so an existing socket is stale.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return domain.Errorf(domain.CodeUnavailable, "cannot replace the socket: %w", err)
	}
	socket, err := listenUnix(path)
	if err != nil {
		return err
	}
	defer s.hangups(ctx)()
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := socketServer.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			failed <- exit.With(exit.SysUnavail, err)
		}
	})
	s.startup.swap(handler)
	go s.auth.Run(ctx)
	if err := s.announce(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	m := newManager(s.Env, os.Getpid(), s.log)
	m.notify("READY=1", "STATUS=ready at "+s.startup.url)
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	wg.Go(func() {
		m.watch(watched, func(ctx context.Context) error {
			err := s.store.SetSetting(ctx, "heartbeat", time.Now().UTC().Format(time.RFC3339Nano))
			if domain.CodeOf(err) == domain.CodeNoSpace {
				return nil // the server works, so a restart would not help
			}
			return err
		})
	})
	go func() {
		select { // waits for the work of the start
		case <-time.After(settling):
		case <-ctx.Done():
			return
		}
		debug.FreeOSMemory() // a start leaves more garbage than hours of an idle daemon
	}()
	var cause error
	select {
	case <-ctx.Done():
		s.log.Info("stopping", "grace", drain.String())
	case cause = <-failed:
	case cause = <-s.startup.failed:
	case <-s.store.Failed():
		cause = s.store.Failure()
		if code := domain.CodeOf(cause); code != domain.CodeCorrupt && code != domain.CodeLocked {
			cause = exit.With(exit.SysIO, cause)
		}
	}
	unwatch()
	m.notify("STOPPING=1")
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	s.startup.close(stopCtx)
	if err := socketServer.Shutdown(stopCtx); err != nil {
		_ = socketServer.Close() // ends streams that are still open
	}
	wg.Wait()
	return cause
}

// announce prints the ready line, and how to set up a new server.
func (s *server) announce(ctx context.Context) error {
	needsSetup, err := s.auth.NeedsSetup(ctx)
	if err != nil {
		return err
	}
	var secret string
	if needsSetup {
		if secret, err = s.auth.BeginSetup(ctx); err != nil {
			return err
		}
	}
	// From here on, an error of the database no longer ends the start. The health checks report it.
	s.store.Started()
	fmt.Fprintf(s.Out, "kairosd is ready at %s\n", s.startup.url)
	up := s.system.up.Load()
	fmt.Fprintf(s.Out, "backups: %s\n", up.keep.Schedule(up.backups))
	fmt.Fprintf(s.Out, "%s\n", s.Dir.KeyNotice())
	for _, n := range s.system.Notices(ctx) {
		s.log.Warn("notice", "text", n.Text.String())
		fmt.Fprintf(s.Out, "%s\n", n.Text)
	}
	if needsSetup {
		fmt.Fprintf(s.Out, "Set up the first user (once, within an hour): %s/setup?token=%s\n", s.startup.links, secret)
	}
	return nil
}

// listenUnix opens a socket that only its owner can use.
func listenUnix(path string) (net.Listener, error) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot open the local socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(domain.Errorf(domain.CodeUnavailable, "cannot protect the local socket: %w", err), ln.Close())
	}
	return ln, nil
}
