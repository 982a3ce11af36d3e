package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/config"
)

// The settings of the file are listed key by key, without anything that may be a secret.
func TestSettingsOfTheFileAreListedWithoutSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.yaml")
	src := `
providers: {own: {type: openai, base_url: "http://me:hunter2hunter2@127.0.0.1:1/v1?key=hunter2hunter2", model: m, api_key_env: OWN_KEY}}
agents: [{id: writer, name: Writer, system_prompt: "` + strings.Repeat("long ", 100) + `", tools: [http, set]}]
mcp: {servers: {crm: {command: [/bin/crm, --fast], allow: true, env: {CRM_PASSWORD: hunter2hunter2}}}}
notifications: {channels: {ops: {type: webhook, url: "https://hooks.example.com/hunter2hunter2"}}}
engine: {max_running: 3}
`
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range c.Named {
		if strings.Contains(n.Value, "hunter2") {
			t.Errorf("%s shows a secret: %s", n.Key, n.Value)
		}
		got[n.Key] = n.Value
	}
	if !strings.HasPrefix(got["agents.writer.system_prompt"], "long long") || !strings.HasSuffix(got["agents.writer.system_prompt"], "…") {
		t.Errorf("a long value: %q", got["agents.writer.system_prompt"])
	}
	delete(got, "agents.writer.system_prompt")
	want := map[string]string{
		"providers.own.type": "openai", "providers.own.base_url": "http://127.0.0.1:1/v1", "providers.own.model": "m",
		"providers.own.api_key_env": "OWN_KEY",
		"agents.writer.id":          "writer", "agents.writer.name": "Writer", "agents.writer.tools": "http, set",
		"mcp.servers.crm.command": "/bin/crm, --fast", "mcp.servers.crm.allow": "true", "mcp.servers.crm.env.CRM_PASSWORD": config.Masked,
		"notifications.channels.ops.type": "webhook", "notifications.channels.ops.url": "https://hooks.example.com/" + config.Masked,
		"engine.max_running": "3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(c.Sum) != 64 {
		t.Errorf("the checksum is %q", c.Sum)
	}
}
