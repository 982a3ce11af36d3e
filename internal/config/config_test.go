package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/config"
)

func load(t *testing.T, src string) (config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kairos.yaml")
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(path)
}

func TestTheExampleOfTheSourceSpecificationLoads(t *testing.T) {
	t.Parallel()
	c, err := load(t, `
providers: {local: {type: openai, base_url: "http://127.0.0.1:11434/v1", api_key_env: OPENAI_API_KEY, model: llama3}}
default_provider: local
agents: [{id: support, name: Support, provider: local, system_prompt: "…", tools: [datetime], trigger_keywords: [refund], capabilities: [general]}]
default_agent: support
skills: [{id: generate_content, keywords: {en: [write, create], es: [escribe, crea]}, depends_on: [], tool: set}]
tools: {http: {allow_private: ["127.0.0.0/8"]}, files: {roots: ["./data"]}, permissions: {http: ask}}
mcp: {servers: {files: {command: ["my-mcp-server"]}, remote: {url: "https://…/mcp"}}}
engine: {max_running: 64, max_nodes: 256}
retention: {completed: 90d}
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Engine.MaxRunning != 64 || !filepath.IsAbs(c.Tools.Files.Roots[0]) {
		t.Errorf("%+v", c)
	}
}

// O10: mistakes in the configuration name their key.
func TestMistakesNameTheirKey(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"engine:\n  max_runing: 3\n":                                  `line 2: unknown key "max_runing" in engine (did you mean max_running?)`,
		"allow_private: true\n":                                       `line 1: unknown key "allow_private" (it belongs in notifications or in tools.http)`,
		"tools: {retention: 1}\n":                                     `line 1: unknown key "retention" in tools (it belongs at the top level); tools has`,
		"tools: {http: {hostz: []}}\n":                                `in tools.http; tools.http has allow_ports, allow_private, `,
		"default_agent: nobody\n":                                     `unknown default_agent "nobody"`,
		"tools: {permissions: {http: maybe}}\n":                       `"maybe" is not allow, ask or deny`,
		"retention: {completed: soon}\n":                              `"soon" is not an age`,
		"secrets: {K: {}}\n":                                          "secret K needs exactly one of env and file",
		"providers: {x: {type: magic}}\n":                             `unknown type "magic"`,
		"engine: {max_nodes: many}\n":                                 "line 1",
		"engine: {backend: postgres}\n":                               `engine.backend is "postgres"; use sqlite or temporal`,
		"engine: {temporal: {ui: host}}\n":                            "engine.temporal: ui:",
		"engine: {temporal: {tls: {ca: f}}}\n":                        "engine.temporal: tls: set enabled: true",
		"engine: {temporal: {tls: {enabled: true, cert: f}}}\n":       "engine.temporal: tls: use cert and key together",
		"engine: {temporal: {api_key_env: K}}\n":                      "engine.temporal: an API key needs tls",
		"engine: {temporal: {lost_after: -1s}}\n":                     "engine.temporal: lost_after is negative",
		"engine: {temporal: {plaintext: true, payload_key_env: K}}\n": "engine.temporal: use one of payload_key_env",
		"engine: {temporal: {decrypt_key_files: [f]}}\n":              "engine.temporal: decrypt_key_files needs",
		"server: {tls_cert: a.pem}\n":                                 "go together",
		"hooks: {url: events.example.com}\n":                          "hooks: url: write an address",
		"hooks: {url: \"ftp://e.example\"}\n":                         "hooks: url: write an address",
		"hooks: {url: \"https://e.example/?a\"}\n":                    "hooks: url: write an address",
		"hooks: {listen: \"unix:\"}\n":                                "hooks: listen: name the socket",
		"skills: [{id: a}]\n":                                         "exactly one of tool and agent",
		"agents: [{id: a}, {id: a}]\n":                                "two agents have the id",
		"agents: [{id: a, a2a: {url: partner}}]\n":                    "a2a.url must be",
		"agents: [{id: a, model: m, a2a: {url: 'http://p', token_env: A, token_file: b, input_required: ask}}]\n": "neither wait nor fail",
	} {
		if _, err := load(t, src); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", src, err, want)
		}
	}
}
