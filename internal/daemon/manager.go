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

// manager notifies the service manager that started the daemon, with the protocol of sd_notify.
// Without a service manager, it does nothing.
type manager struct {
	socket string // the path of the notification socket
	// every is the interval of watchdog messages: half of the service manager's timeout. 0 means
	// none.
	every time.Duration
	log   *slog.Logger
}

// newManager reads the service manager's settings from the environment. pid is the process ID of
// the daemon.
func newManager(env func(string) string, pid int, log *slog.Logger) *manager {
	m := &manager{socket: env("NOTIFY_SOCKET"), log: log}
	if m.socket == "" {
		return m
	}
	// Processes that the daemon starts inherit the variables, so the watchdog has the process ID.
	if of := env("WATCHDOG_PID"); of != "" && of != strconv.Itoa(pid) {
		return m
	}
	if us, err := strconv.ParseInt(env("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		m.every = max(time.Duration(us)*time.Microsecond/2, time.Millisecond)
	}
	return m
}

// notify sends a message. An error is only logged.
func (m *manager) notify(lines ...string) {
	if m.socket == "" {
		return
	}
	if err := send(m.socket, strings.Join(lines, "\n")); err != nil {
		m.log.Warn("notify the service manager", "what", lines[0], "err", err)
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
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// watch sends watchdog messages until the context ends. It sends one only after the database writer
// has committed, so that a daemon that cannot store anything is restarted.
func (m *manager) watch(ctx context.Context, beat func(context.Context) error) {
	if m.every == 0 {
		return
	}
	t := time.NewTicker(m.every)
	defer t.Stop()
	for {
		if err := beat(ctx); err == nil {
			m.notify("WATCHDOG=1")
		} else if ctx.Err() == nil {
			m.log.Error("no watchdog message sent: the database could not be written", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}
