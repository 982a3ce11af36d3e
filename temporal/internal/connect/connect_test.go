package connect

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/config"
)

// The connection is encrypted, checks the certificate of the server, and names the API key in each request.
func TestAnEncryptedConnection(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "7") // permission denied
		w.Header().Set("Grpc-Message", "go away")
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	dial := func(c config.Temporal) string {
		t.Helper()
		encrypted, err := c.TLS.Config()
		if err != nil {
			t.Fatal(err)
		}
		key, err := c.APIKey()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Dial(t.Context(), Server{Address: server.Listener.Addr().String(), Namespace: "default", TLS: encrypted, APIKey: key},
			slog.New(slog.DiscardHandler))
		if err == nil {
			t.Fatal("a server that refuses everything was accepted")
		}
		return err.Error()
	}
	known := config.Temporal{TLS: config.TemporalTLS{Enabled: true, CA: ca, ServerName: "example.com"}, APIKeyFile: file("key", "secret\n")}
	if text := dial(known); !strings.Contains(text, "go away") {
		t.Errorf("with its certificate, the server does not answer: %s", text)
	}
	if key := <-keys; key != "Bearer secret" {
		t.Errorf("the request names the key %q", key)
	}
	unknown := known
	unknown.TLS.CA = ""
	if text := dial(unknown); !strings.Contains(text, "certificate") {
		t.Errorf("a server with an unknown certificate: %s", text)
	}
}

// Files that contain no certificate or no key are named.
func TestFilesOfTheConnection(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]config.Temporal{
		"engine.temporal.tls.ca: open":            {TLS: config.TemporalTLS{Enabled: true, CA: empty + "x"}},
		"empty contains no certificate":           {TLS: config.TemporalTLS{Enabled: true, CA: empty}},
		"engine.temporal.tls.cert:":               {TLS: config.TemporalTLS{Enabled: true, Cert: empty, Key: empty}},
		"engine.temporal.api_key_file: open":      {APIKeyFile: empty + "x"},
		"the API key of engine.temporal is empty": {APIKeyFile: empty},
	} {
		_, err := c.TLS.Config()
		if err == nil {
			_, err = c.APIKey()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}
