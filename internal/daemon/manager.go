package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// manager tells the service manager that started the daemon how it does, by the
// protocol of sd_notify. Where none has, it tells nobody.
type manager struct {
	socket string // where it listens
	// every is how often it wants a sign of life, half of what it waits for; 0: never.
	every time.Duration
	log   *slog.Logger
}

// newManager reads from the environment who started the daemon; pid is the daemon's.
func newManager(env func(string) string, pid int, log *slog.Logger) *manager {
	m := &manager{socket: env("NOTIFY_SOCKET"), log: log}
	if m.socket == "" {
		return m
	}
	// The variable reaches whoever the daemon starts, too: it names who is meant.
	if of := env("WATCHDOG_PID"); of != "" && of != strconv.Itoa(pid) {
		return m
	}
	if us, err := strconv.ParseInt(env("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		m.every = max(time.Duration(us)*time.Microsecond/2, time.Millisecond)
	}
	return m
}

// tell sends a message; that nobody takes it ends nothing.
func (m *manager) tell(lines ...string) {
	if m.socket == "" {
		return
	}
	if err := send(m.socket, strings.Join(lines, "\n")); err != nil {
		m.log.Warn("tell the service manager", "what", lines[0], "err", err)
	}
}

func send(socket, text string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("reach the service manager: %w", err)
	}
	_, err = conn.Write([]byte(text))
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

// watch gives signs of life until the context ends. One is given only when the
// writer of the database has just made something durable: a daemon that answers but
// stores nothing any more is started again.
func (m *manager) watch(ctx context.Context, beat func(context.Context) error) {
	if m.every == 0 {
		return
	}
	t := time.NewTicker(m.every)
	defer t.Stop()
	for {
		if err := beat(ctx); err == nil {
			m.tell("WATCHDOG=1")
		} else if ctx.Err() == nil {
			m.log.Error("no sign of life for the service manager: nothing could be stored", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
