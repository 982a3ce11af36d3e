package cli_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/store"
)

// Under a service manager, the daemon reports when it is ready, sends watchdog signals while the
// database works, and reports when it stops.
func TestTheServiceManagerIsNotified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "notify")
	ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	heard := make(chan string, 1000)
	go func() {
		defer close(heard)
		b := make([]byte, 4096)
		for {
			n, err := ln.Read(b)
			if err != nil {
				return
			}
			heard <- string(b[:n])
		}
	}()
	await := func(what string) string {
		t.Helper()
		for {
			select {
			case m := <-heard:
				if strings.HasPrefix(m, what) {
					return m
				}
			case <-time.After(time.Minute):
				t.Fatalf("no notification %s", what)
			}
		}
	}
	data := filepath.Join(dir, "data")
	env := map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "20000"}
	d := serveIn(t, func(name string) string { return env[name] }, nil, data)
	if m := await("READY=1"); !strings.Contains(m, "\nSTATUS=ready at http://") {
		t.Errorf("the notification is %q", m)
	}
	await("WATCHDOG=1")
	await("WATCHDOG=1")
	if code := d.end(t); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	await("STOPPING=1")
	s, err := store.Open(t.Context(), filepath.Join(data, "kairos.db"), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if at, err := s.Setting(t.Context(), "heartbeat"); err != nil || at == "" {
		t.Errorf("the watchdog signal without a heartbeat in the database: %q, %v", at, err)
	}
}

// Without a service manager, the daemon sends nothing. It sends no watchdog signals for another
// process.
func TestADaemonWithoutAServiceManagerSendsNoNotifications(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "notify")
	ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	env := map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
	d := serveIn(t, func(name string) string { return env[name] }, nil, filepath.Join(dir, "data"))
	d.end(t)
	if err := ln.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		n, err := ln.Read(b)
		if err != nil || !strings.HasPrefix(string(b[:n]), want) {
			t.Errorf("%q, %v: want %s", b[:n], err, want)
		}
	}
}
