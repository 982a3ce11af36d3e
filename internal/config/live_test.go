package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/config"
)

func loaded(t *testing.T, text string) config.Config {
	t.Helper()
	c, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Only addresses and reporting of a daemon wait for the next start, and are listed. Everything else
// is applied (O13).
func TestSettingsThatApplyWithoutARestart(t *testing.T) {
	t.Parallel()
	tls := "server: {tls_cert: /c.pem, tls_key: /k.pem}\n"
	for name, c := range map[string]struct {
		before, after  string
		later, changed []string
	}{
		"nothing changed":  {"engine: {max_running: 3}\n", "engine: {max_running: 3}\n", nil, nil},
		"a limit":          {"engine: {max_running: 3}\n", "engine: {max_running: 4}\n", nil, []string{"engine"}},
		"hosts and agents": {"", "server: {hosts: [a.example]}\nagents: [{id: a}]\n", []string{"server.hosts"}, []string{"agents"}},
		"where it listens": {"", "server: {listen: \"unix:/run/k.sock\", socket_mode: \"0660\"}\n",
			[]string{"server.listen", "server.socket_mode"}, nil},
		"where hooks listen": {"", "hooks: {listen: \"127.0.0.1:8081\", url: \"https://e.example\"}\n", []string{"hooks.listen"},
			[]string{"hooks"}},
		"what executes runs": {"", "engine: {backend: temporal, temporal: {queue: q}}\n",
			[]string{"engine.backend", "engine.temporal"}, nil},
		"proxies":               {"server: {trusted_proxies: [10.0.0.1]}\n", "", []string{"server.trusted_proxies"}, nil},
		"TLS for the first":     {"", tls, []string{"server.tls_cert", "server.tls_key"}, nil},
		"TLS no more":           {tls, "", []string{"server.tls_cert", "server.tls_key"}, nil},
		"another certificate":   {tls, "server: {tls_cert: /d.pem, tls_key: /k.pem}\n", nil, []string{"server"}},
		"whom traces are sent":  {"", "telemetry: {otlp_endpoint: \"http://127.0.0.1:4318\"}\n", []string{"telemetry"}, nil},
		"retention and backups": {"retention: {completed: 90d}\n", "backup: {every: 6h}\n", nil, []string{"backup", "retention"}},
	} {
		started, next := loaded(t, c.before), loaded(t, c.after)
		live, later := next.Live(started)
		if diff := cmp.Diff(c.later, later); diff != "" {
			t.Errorf("%s: what waits: %s", name, diff)
		}
		if diff := cmp.Diff(c.changed, config.Changed(started, live)); diff != "" {
			t.Errorf("%s: what changed: %s", name, diff)
		}
		if live.Sum != next.Sum {
			t.Errorf("%s: the sum is not the file's", name)
		}
		for _, n := range live.Named { // the settings of the active configuration are shown
			if n.Key == "server.hosts" || n.Key == "telemetry.otlp_endpoint" {
				t.Errorf("%s: %s is shown and waits", name, n.Key)
			}
		}
	}
}
