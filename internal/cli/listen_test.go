package cli_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// askSocket sends a request through a Unix socket, like a proxy or curl --unix-socket.
func askSocket(t *testing.T, socket, host, path string, header map[string]string) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// The mode of the dashboard's Unix socket decides who can use it. The host of another site is
// refused there, too. The CLI uses the socket with a token. kairosd replaces the socket of a killed
// daemon, but no other file.
func TestTheDashboardOnASocket(t *testing.T) {
	t.Parallel()
	in := shortDir(t)
	data, socket := filepath.Join(in, "data"), filepath.Join(in, "k.sock")
	cfg := written(t, in, "kairos.yaml", "server: {socket_mode: \"0660\", hosts: [kairos.example], trusted_proxies: [127.0.0.1]}\n")
	// A killed daemon leaves a socket without a listener.
	left, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	d := serve(t, data, "--config", cfg, "--listen", "unix:"+socket)
	if d.url != "unix:"+socket {
		t.Errorf("ready at %s", d.url)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode() != os.ModeSocket|0o660 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	for host, want := range map[string]int{"localhost": 200, "kairosd": 200, "kairos.example": 200, "evil.example": 421,
		"kairosd:80": 421, "127.0.0.1:8080": 421} {
		if resp, body := askSocket(t, socket, host, "/readyz", nil); resp.StatusCode != want {
			t.Errorf("host %s: %d %s", host, resp.StatusCode, body)
		}
	}
	// A proxy at the socket that is trusted as 127.0.0.1 may state that TLS is in use.
	secure := func(proto string) bool {
		resp, _ := askSocket(t, socket, "kairos.example", "/login", map[string]string{"X-Forwarded-Proto": proto})
		return resp.Header.Get("Strict-Transport-Security") != ""
	}
	if !secure("https") || secure("http") {
		t.Error("X-Forwarded-Proto of a trusted proxy does not decide about TLS")
	}
	anonymous, err := client.New("unix:"+socket, "")
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Close()
	if _, err := anonymous.Server(t.Context()); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("without a token: %v", err)
	}
	token, stderr, code := runKairosd("token", "create", "--data", data, "--role", "viewer", "--name", "ci")
	if code != 0 {
		t.Fatalf("token: exit %d, %s", code, stderr)
	}
	r := d.start(t, waits)
	s := &shell{t: t, dir: t.TempDir(), env: map[string]string{"KAIROS_TOKEN": strings.TrimSpace(token), "HOME": t.TempDir()}}
	if out, _ := s.expect(0, "--server", "unix:"+socket, "runs", "--json"); !strings.Contains(out, r.ID) {
		t.Errorf("kairos --server unix: %s", out)
	}
	other := []string{"serve", "--data", filepath.Join(in, "other"), "--listen", "unix:" + socket}
	if _, stderr, code := runKairosd(other...); code != 69 || !strings.Contains(stderr, "another process listens on "+socket) {
		t.Errorf("a second daemon: exit %d, %s", code, stderr)
	}
	if code := d.end(t); code != 0 {
		t.Errorf("serve ended with %d: %s", code, d.log)
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	written(t, in, "k.sock", "mine")
	if _, stderr, code := runKairosd(other...); code != 69 || !strings.Contains(stderr, "is not a socket") {
		t.Errorf("a file in its place: exit %d, %s", code, stderr)
	}
	if b, err := os.ReadFile(socket); err != nil || string(b) != "mine" {
		t.Errorf("the file: %q, %v", b, err)
	}
}

// The configuration decides where the daemon listens, unless a flag does. Without a mode, only the
// owner can use the socket.
func TestAConfiguredSocket(t *testing.T) {
	t.Parallel()
	in := shortDir(t)
	cfg := written(t, in, "kairos.yaml", "server: {listen: \"unix:k.sock\"}\n")
	d := serve(t, filepath.Join(in, "data"), "--config", cfg, "--listen", "")
	if want := "unix:" + filepath.Join(in, "k.sock"); d.url != want {
		t.Errorf("ready at %s, not %s", d.url, want)
	}
	if info, err := os.Stat(filepath.Join(in, "k.sock")); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	for name, text := range map[string]string{"tls": "server: {listen: \"unix:k.sock\", tls_cert: c, tls_key: k}\n",
		"mode": "server: {socket_mode: \"0666\"}\n", "nameless": "server: {listen: \"unix:\"}\n"} {
		written(t, in, "kairos.yaml", text)
		if _, stderr, code := runKairosd("serve", "--data", filepath.Join(in, "other"), "--config", cfg); code != 78 {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
	}
}
