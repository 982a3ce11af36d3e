// Package config reads the configuration file of kairos and kairosd: strict
// YAML whose unknown keys are errors with a line and a suggestion.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/metric"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/tool"
)

// Config is the content of the configuration file. The zero value is a valid configuration without
// providers, agents, or skills.
type Config struct {
	Providers       map[string]Provider `yaml:"providers"`
	DefaultProvider string              `yaml:"default_provider"`
	Agents          []Agent             `yaml:"agents"`
	DefaultAgent    string              `yaml:"default_agent"`
	Skills          []Skill             `yaml:"skills"`
	Planner         Planner             `yaml:"planner"`
	Tools           tool.Config         `yaml:"tools"`
	MCP             MCP                 `yaml:"mcp"`
	Engine          Engine              `yaml:"engine"`
	Approvals       Approvals           `yaml:"approvals"`
	Secrets         map[string]Secret   `yaml:"secrets"`
	Retention       Retention           `yaml:"retention"`
	Backup          Backup              `yaml:"backup"`
	Server          Server              `yaml:"server"`
	Hooks           Hooks               `yaml:"hooks"`
	Login           Login               `yaml:"login"`
	Notifications   Notifications       `yaml:"notifications"`
	Telemetry       metric.Telemetry    `yaml:"telemetry"`

	// Sum is the SHA-256 of the file, and Named contains its settings without secrets. Both are
	// empty without a file.
	Sum   string  `yaml:"-"`
	Named []Named `yaml:"-"`
}

// Provider configures a connection to models.
type Provider struct {
	Type      string `yaml:"type"` // openai, anthropic, offline, scripted
	BaseURL   string `yaml:"base_url"`
	APIKeyEnv string `yaml:"api_key_env"`
	Model     string `yaml:"model"`
	File      string `yaml:"file"` // file with scripted answers
	// APIKeyFile is the file that contains the key, instead of an environment variable.
	APIKeyFile string `yaml:"api_key_file"`
	// Prices per million tokens by model, in the server's currency.
	Prices map[string]model.Price `yaml:"prices"`
	// Models that plans may name in addition to Model, the models with prices, and those of agents.
	// "*" permits any model.
	Models []string `yaml:"models"`
	// Breaker configures the circuit of the provider.
	Breaker circuit.Settings `yaml:"breaker"`
}

// Agent configures an agent.
type Agent struct {
	ID            string   `yaml:"id"`
	Name          string   `yaml:"name"`
	Description   string   `yaml:"description"`
	Icon          string   `yaml:"icon"`
	Color         string   `yaml:"color"`
	Capabilities  []string `yaml:"capabilities"`
	SystemPrompt  string   `yaml:"system_prompt"`
	Provider      string   `yaml:"provider"`
	Model         string   `yaml:"model"`
	MaxTokens     int      `yaml:"max_tokens"`
	Temperature   *float64 `yaml:"temperature"`
	MaxIterations int      `yaml:"max_iterations"`
	Tools         []string `yaml:"tools"`
	// Permissions of this agent by tool.
	Permissions     tool.Permissions `yaml:"permissions"`
	TriggerKeywords []string         `yaml:"trigger_keywords"`
	Selectable      *bool            `yaml:"selectable"`
	// A2A is set for an agent of another server.
	A2A RemoteAgent `yaml:"a2a"`
}

// RemoteAgent configures an agent of another server, which kairosd calls with the Agent2Agent protocol.
type RemoteAgent struct {
	URL string `yaml:"url"`
	// TokenEnv is the environment variable, and TokenFile the file, that contains the bearer token.
	TokenEnv  string `yaml:"token_env"`
	TokenFile string `yaml:"token_file"`
	Skill     string `yaml:"skill"`
	// Deduplicates reports that the server answers a repeated message id with the same task, as kairosd does.
	Deduplicates bool `yaml:"deduplicates"`
	// InputRequired is wait or fail.
	InputRequired string `yaml:"input_required"`
}

// Bearer reads the token. It is empty if none is configured.
func (r RemoteAgent) Bearer() (string, error) {
	token := os.Getenv(r.TokenEnv)
	if r.TokenFile != "" {
		b, err := os.ReadFile(r.TokenFile)
		if err != nil {
			return "", domain.Errorf(domain.CodeInvalid, "agents.a2a.token_file: %w", err)
		}
		token = strings.TrimRight(string(b), "\r\n")
	}
	if token == "" && r.TokenEnv+r.TokenFile != "" {
		return "", domain.Errorf(domain.CodeInvalid, "the token of agents.a2a is empty").
			Suggest("set the variable in token_env, or write the file in token_file")
	}
	return token, nil
}

// Skill configures a planned capability, bound to a tool or an agent.
type Skill struct {
	ID              string              `yaml:"id"`
	Description     string              `yaml:"description"`
	Keywords        map[string][]string `yaml:"keywords"`
	Produces        []string            `yaml:"produces"`
	Consumes        Consumed            `yaml:"consumes"`
	Params          map[string]any      `yaml:"params"`
	DependsOn       []string            `yaml:"depends_on"`
	EstimatedMs     int64               `yaml:"estimated_ms"`
	EstimatedTokens int64               `yaml:"estimated_tokens"`
	Tool            string              `yaml:"tool"`
	Agent           string              `yaml:"agent"`
	Implies         []string            `yaml:"implies"`
	GuardedBy       []string            `yaml:"guarded_by"`
	OutputSchema    map[string]any      `yaml:"output_schema"`
	MinComplexity   float64             `yaml:"min_complexity"`
	Gate            *Gate               `yaml:"gate"`
	Defaults        map[string]any      `yaml:"defaults"`
	Retry           *SkillRetry         `yaml:"retry"`
}

// Product returns the only property of the output schema, if it is a text that the skill produces.
func (s Skill) Product() string {
	properties, _ := s.OutputSchema["properties"].(map[string]any)
	for name, schema := range properties {
		if m, ok := schema.(map[string]any); ok && len(properties) == 1 && m["type"] == "string" && slices.Contains(s.Produces, name) {
			return name
		}
	}
	return ""
}

// Consumed contains parameters that come from the step that produces them: a list of names, or a
// map from parameters to products.
type Consumed map[string]string

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Consumed) UnmarshalYAML(n *yaml.Node) error {
	var names []string
	if n.Kind == yaml.SequenceNode {
		if err := n.Decode(&names); err != nil {
			return err
		}
		*c = Consumed{}
		for _, name := range names {
			(*c)[name] = name
		}
		return nil
	}
	return n.Decode((*map[string]string)(c))
}

// Names lists the parameters.
func (c Consumed) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Gate is a condition for a skill's step: an expression over another skill's result.
type Gate struct {
	Skill string `yaml:"skill"`
	Expr  string `yaml:"expr"`
}

// SkillRetry is the retry policy of a skill's step.
type SkillRetry struct {
	MaxAttempts int     `yaml:"max_attempts"`
	BackoffMs   []int64 `yaml:"backoff_ms"`
}

// Planner configures how requests are planned.
type Planner struct {
	Mode          string   `yaml:"mode"` // auto, rules or model
	Provider      string   `yaml:"provider"`
	Model         string   `yaml:"model"`
	MaxSteps      int      `yaml:"max_steps"`
	MaxTokens     int      `yaml:"max_tokens"`
	Temperature   *float64 `yaml:"temperature"`
	UseHeuristics *bool    `yaml:"use_heuristics"`
	// AutoAccept names unsafe tools and agents. Generated plans that use them start without
	// acceptance.
	AutoAccept []string `yaml:"auto_accept"`
	// MaxReplans is the maximum number of replans per run. The default is 2.
	MaxReplans *int `yaml:"max_replans"`
	// OnError is the default policy for a failed step of a generated plan: fail (the default) or
	// replan.
	OnError string `yaml:"on_error"`
}

// MCP configures servers that provide tools, by the prefix of their tools' names.
type MCP struct {
	Servers map[string]mcp.Server `yaml:"servers"`
}

// Engine limits the active work, and selects what executes it. Zero means the default.
type Engine struct {
	MaxRunning int `yaml:"max_running"`
	MaxNodes   int `yaml:"max_nodes"`
	// Backend is sqlite or temporal.
	Backend  string   `yaml:"backend"`
	Temporal Temporal `yaml:"temporal"`
}

// Values of [Engine.Backend].
const (
	BackendSQLite   = "sqlite"
	BackendTemporal = "temporal"
)

// Approvals configures who may decide.
type Approvals struct {
	Separate bool `yaml:"separate"`
	// Timeout is how long a tool with the permission ask waits for an answer before its call counts
	// as rejected. By default, it waits without limit.
	Timeout time.Duration `yaml:"timeout"`
}

// Secret is a value that plans refer to as ${secret.NAME}. It comes from the environment or a file,
// and is passed only to the tools that it names.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
	// Tools lists the tools that may receive the secret. If it is empty, no tool may.
	Tools []string `yaml:"tools"`
	// Hosts lists the hosts that calls with the secret may go to, such as api.example.com,
	// optionally with a port. It is required for the tool http.
	Hosts []string `yaml:"hosts"`
	// Hooks reports whether hooks may verify their senders with the secret.
	Hooks bool `yaml:"hooks"`
}

// Retention configures when the journals and values of finished runs are deleted. The runs stay in
// lists. Empty means never.
type Retention struct {
	RetentionRule `yaml:",inline"`
	// MaxSize is the maximum size of the database ("20GiB"). Above it, the oldest finished runs are
	// deleted.
	MaxSize string `yaml:"max_size"`
	// Audit is how long audit events are kept ("3650d").
	Audit string `yaml:"audit"`
	// Every is the interval of the check. The default is 1h.
	Every string `yaml:"every"`
	// Plans contains rules for single plans by id, which replace the general rule.
	Plans map[string]RetentionRule `yaml:"plans"`
}

// RetentionRule deletes finished runs that are older ("90d", "720h"), or beyond a number of runs
// per plan.
type RetentionRule struct {
	Completed string `yaml:"completed"`
	Failed    string `yaml:"failed"`
	Cancelled string `yaml:"cancelled"`
	Keep      int64  `yaml:"keep"`
}

// Backup configures where and when the daemon makes backups automatically.
type Backup struct {
	Dir   string `yaml:"dir"`   // default: backups in the data directory
	Every string `yaml:"every"` // "6h", "1d", or "never"; empty: once a day
	// Hourly, Daily, and Weekly are the numbers of scheduled backups that are kept. The newest
	// backup is always kept. If all are zero, the defaults are 24, 7, and 5, or 7 daily ones if
	// Every is empty.
	Hourly int `yaml:"hourly"`
	Daily  int `yaml:"daily"`
	Weekly int `yaml:"weekly"`
	// Recipients are age public keys (age1…). If there are any, backups are encrypted, and only the
	// owner of one of the private keys can restore them.
	Recipients []string `yaml:"recipients"`
}

// never disables scheduled backups.
const never = "never"

// Interval returns the interval of backups; 0 means never.
func (b Backup) Interval() time.Duration {
	switch b.Every {
	case never:
		return 0
	case "":
		return 24 * time.Hour
	}
	every, _ := Age(b.Every) // Load has validated the value
	return every
}

// Kept returns how many hourly, daily, and weekly backups rotation keeps.
func (b Backup) Kept() (hourly, daily, weekly int) {
	switch {
	case b.Hourly != 0 || b.Daily != 0 || b.Weekly != 0:
		return b.Hourly, b.Daily, b.Weekly
	case b.Every == "":
		return 0, 7, 0
	}
	return 24, 7, 5
}

// Schedule describes the interval of backups and which ones are kept.
func (b Backup) Schedule(dir string) string {
	if b.Interval() == 0 {
		return "none are scheduled (backup.every: " + never + ")"
	}
	var kept []string
	hourly, daily, weekly := b.Kept()
	for _, k := range []struct {
		n    int
		what string
	}{{hourly, "hourly"}, {daily, "daily"}, {weekly, "weekly"}} {
		if k.n > 0 {
			kept = append(kept, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	return fmt.Sprintf("every %s to %s, %s kept", cmp.Or(b.Every, "1d"), dir, strings.Join(kept, ", "))
}

// Server configures the listener of kairosd serve.
type Server struct {
	// Listen is an address, or a Unix socket as unix:/run/kairos/kairos.sock. --listen takes
	// precedence.
	Listen string `yaml:"listen"`
	// SocketMode is the mode of that socket: "0600", or "0660" to include its group.
	SocketMode     string   `yaml:"socket_mode"`
	TLSCert        string   `yaml:"tls_cert"`
	TLSKey         string   `yaml:"tls_key"`
	Hosts          []string `yaml:"hosts"`
	TrustedProxies []string `yaml:"trusted_proxies"`
}

// Hooks configures the addresses to which other systems send requests: hooks and callbacks of runs.
type Hooks struct {
	// URL is the address at which other systems reach kairosd.
	URL string `yaml:"url"`
	// Rate is the number of deliveries per second to a hook, 20 by default. The number at once, and the
	// limits of senders, change in proportion.
	Rate int `yaml:"rate"`
	// Directories are those in which hooks may watch files, with the directories below them.
	Directories []string `yaml:"directories"`
	// Listen is a listener of their own, an address or a Unix socket. If it is empty, the listener of
	// the server serves them.
	Listen string `yaml:"listen"`
}

// MaxHookRate is the maximum of hooks.rate.
const MaxHookRate = 100_000

// check returns an error if the address is not one that other systems can use.
func (h Hooks) check() error {
	if h.Listen == SocketScheme {
		return errors.New("listen: name the socket, such as unix:/run/kairos/events.sock")
	}
	if h.Rate < 0 || h.Rate > MaxHookRate {
		return fmt.Errorf("rate: write a number from 1 to %d", MaxHookRate)
	}
	if slices.Contains(h.Directories, "") {
		return errors.New("directories: name a directory, such as /data/in")
	}
	if h.URL == "" {
		return nil
	}
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("url: write an address such as https://events.example.com")
	}
	return nil
}

// Age parses a retention age: a Go duration, or days as 90d. An empty text is 0.
func Age(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err != nil || n <= 0 {
			return 0, fmt.Errorf("%q is not an age like 90d", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not an age like 90d", s)
	}
	return d, nil
}

// resolve makes relative paths relative to the configuration file.
func (c *Config) resolve(dir string) {
	abs := func(p string) string {
		if p == "" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	for i, p := range c.Tools.Files.Roots {
		c.Tools.Files.Roots[i] = abs(p)
	}
	for name, p := range c.Tools.SQL.Databases {
		c.Tools.SQL.Databases[name] = abs(p)
	}
	for name, s := range c.Secrets {
		s.File = abs(s.File)
		c.Secrets[name] = s
	}
	for name, p := range c.Providers {
		p.File = abs(p.File)
		c.Providers[name] = p
	}
	for i, p := range c.Hooks.Directories {
		if c.Hooks.Directories[i] = abs(p); p != "" {
			c.Hooks.Directories[i], _ = filepath.Abs(abs(p)) // the working directory exists
		}
	}
	c.Backup.Dir = abs(c.Backup.Dir)
	c.Notifications.resolve(abs)
	if o := c.Login.OIDC; o != nil {
		o.ClientSecretFile, o.CAFile = abs(o.ClientSecretFile), abs(o.CAFile)
	}
	if path, isSocket := SocketOf(c.Server.Listen); isSocket {
		c.Server.Listen = SocketScheme + abs(path)
	}
	if path, isSocket := SocketOf(c.Hooks.Listen); isSocket {
		c.Hooks.Listen = SocketScheme + abs(path)
	}
	c.Server.TLSCert, c.Server.TLSKey = abs(c.Server.TLSCert), abs(c.Server.TLSKey)
}
