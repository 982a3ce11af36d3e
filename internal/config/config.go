// Package config reads the configuration file of kairos and kairosd: strict
// YAML whose unknown keys are errors with a line and a suggestion.
package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/encrypt"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/metric"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/tool"
)

// Config is the configuration file. The zero value is a working
// configuration without providers, agents or skills.
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
	Login           Login               `yaml:"login"`
	Notifications   Notifications       `yaml:"notifications"`
	Telemetry       metric.Telemetry    `yaml:"telemetry"`

	// Sum is the SHA-256 of the file, and Named what it sets, without secrets; both
	// empty without a file.
	Sum   string  `yaml:"-"`
	Named []Named `yaml:"-"`
}

// Provider is a model behind agents.
type Provider struct {
	Type      string `yaml:"type"` // openai, anthropic, offline, scripted
	BaseURL   string `yaml:"base_url"`
	APIKeyEnv string `yaml:"api_key_env"`
	Model     string `yaml:"model"`
	File      string `yaml:"file"` // of scripted answers
	// APIKeyFile holds the key, instead of an environment variable.
	APIKeyFile string `yaml:"api_key_file"`
	// Prices of a million tokens by model, in the installation's currency.
	Prices map[string]model.Price `yaml:"prices"`
	// Models that plans may name beside Model, the priced ones and those of
	// agents; "*" is any.
	Models []string `yaml:"models"`
	// Breaker says when its circuit opens.
	Breaker circuit.Settings `yaml:"breaker"`
}

// Agent is who acts with a model.
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
	// Permissions of this agent, by tool.
	Permissions     tool.Permissions `yaml:"permissions"`
	TriggerKeywords []string         `yaml:"trigger_keywords"`
	Selectable      *bool            `yaml:"selectable"`
}

// Skill is a planned capability, bound to a tool or an agent.
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

// Product is the only member of the output schema, if that is a text which the skill
// produces.
func (s Skill) Product() string {
	properties, _ := s.OutputSchema["properties"].(map[string]any)
	for name, schema := range properties {
		if m, ok := schema.(map[string]any); ok && len(properties) == 1 && m["type"] == "string" && slices.Contains(s.Produces, name) {
			return name
		}
	}
	return ""
}

// Consumed are parameters that come from the step which produces them: a list of names,
// or a mapping of parameters to what they take.
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

// Gate lets a skill's step run only if an expression over another skill's
// result holds.
type Gate struct {
	Skill string `yaml:"skill"`
	Expr  string `yaml:"expr"`
}

// SkillRetry is the retry policy of a skill's step.
type SkillRetry struct {
	MaxAttempts int     `yaml:"max_attempts"`
	BackoffMs   []int64 `yaml:"backoff_ms"`
}

// Planner says how intents become plans.
type Planner struct {
	Mode          string   `yaml:"mode"` // auto, rules or model
	Provider      string   `yaml:"provider"`
	Model         string   `yaml:"model"`
	MaxSteps      int      `yaml:"max_steps"`
	MaxTokens     int      `yaml:"max_tokens"`
	Temperature   *float64 `yaml:"temperature"`
	UseHeuristics *bool    `yaml:"use_heuristics"`
	// AutoAccept names unsafe tools and agents whose planner-made plans start
	// unseen.
	AutoAccept []string `yaml:"auto_accept"`
	// MaxReplans is how often one run may be planned anew; absent: 2.
	MaxReplans *int `yaml:"max_replans"`
	// OnError is what a failed step of a planner-made plan does, unless it says
	// otherwise: fail (the default) or replan.
	OnError string `yaml:"on_error"`
}

// MCP lists servers that contribute tools, by the name that their tools begin
// with.
type MCP struct {
	Servers map[string]mcp.Server `yaml:"servers"`
}

// Engine bounds what runs at once; zero means the default.
type Engine struct {
	MaxRunning int `yaml:"max_running"`
	MaxNodes   int `yaml:"max_nodes"`
}

// Approvals sets who may decide.
type Approvals struct {
	Separate bool `yaml:"separate"`
	// Timeout is how long a tool that asks waits for an answer before its call
	// counts as rejected. Default: for ever.
	Timeout time.Duration `yaml:"timeout"`
}

// Secret is a value that plans refer to as ${secret.NAME}; it comes from the
// environment or a file and reaches only the tools it names.
type Secret struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
	// Tools that may be given the secret; none: no tool.
	Tools []string `yaml:"tools"`
	// Hosts that calls with it may go to, as api.example.com or with a port; http
	// needs them.
	Hosts []string `yaml:"hosts"`
}

// Retention says when finished runs lose their journals and values; the runs
// themselves stay in lists. Empty: never.
type Retention struct {
	RetentionRule `yaml:",inline"`
	// MaxSize bounds the database ("20GiB"): above it the oldest finished runs go.
	MaxSize string `yaml:"max_size"`
	// Audit is how long audit events are kept ("3650d").
	Audit string `yaml:"audit"`
	// Every is how often it is looked after; default 1h.
	Every string `yaml:"every"`
	// Plans have rules of their own, instead of the one above, by plan id.
	Plans map[string]RetentionRule `yaml:"plans"`
}

// RetentionRule removes what is older ("90d", "720h") or beyond a number of
// finished runs per plan.
type RetentionRule struct {
	Completed string `yaml:"completed"`
	Failed    string `yaml:"failed"`
	Cancelled string `yaml:"cancelled"`
	Keep      int64  `yaml:"keep"`
}

// Backup is where and when the daemon makes backups by itself.
type Backup struct {
	Dir   string `yaml:"dir"`   // default: backups in the data directory
	Every string `yaml:"every"` // "6h", "1d", or "never"; empty: once a day
	// Hourly, Daily and Weekly are how many scheduled backups are kept of each; the
	// newest always is. All zero: 24, 7 and 5, or 7 daily ones if Every is empty.
	Hourly int `yaml:"hourly"`
	Daily  int `yaml:"daily"`
	Weekly int `yaml:"weekly"`
	// Recipients are public keys of age (age1…); with any, backups are encrypted, and
	// only who has the private key of one can restore them.
	Recipients []string `yaml:"recipients"`
}

// never switches scheduled backups off.
const never = "never"

// Interval is how often the daemon makes a backup; 0: never.
func (b Backup) Interval() time.Duration {
	switch b.Every {
	case never:
		return 0
	case "":
		return 24 * time.Hour
	}
	every, _ := Age(b.Every) // Load has read it before
	return every
}

// Kept is how many hourly, daily and weekly backups rotation keeps.
func (b Backup) Kept() (hourly, daily, weekly int) {
	switch {
	case b.Hourly != 0 || b.Daily != 0 || b.Weekly != 0:
		return b.Hourly, b.Daily, b.Weekly
	case b.Every == "":
		return 0, 7, 0
	}
	return 24, 7, 5
}

// Schedule describes when backups are made and which are kept.
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

// Server is where and with what kairosd serve listens.
type Server struct {
	// Listen is an address, or a Unix socket as unix:/run/kairos/kairos.sock; --listen
	// stands above it.
	Listen string `yaml:"listen"`
	// SocketMode is who may use that socket: "0600", or "0660" for its group as well.
	SocketMode     string   `yaml:"socket_mode"`
	TLSCert        string   `yaml:"tls_cert"`
	TLSKey         string   `yaml:"tls_key"`
	Hosts          []string `yaml:"hosts"`
	TrustedProxies []string `yaml:"trusted_proxies"`
}

// Load reads a configuration file; an empty path gives the zero configuration.
// Relative paths in it are relative to the file. The error is CodeInvalid and
// names the line.
func Load(path string) (Config, error) {
	var c Config
	if path == "" {
		return c, nil
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return c, domain.Errorf(domain.CodeInvalid, "cannot read the configuration: %w", err)
	}
	if blank(src) {
		return c, nil
	}
	if err := yaml.Load(src, &c, yaml.WithKnownFields()); err != nil {
		return c, domain.Errorf(domain.CodeInvalid, "configuration %s: %s", path, explain(err))
	}
	if err := c.check(); err != nil {
		return c, domain.Errorf(domain.CodeInvalid, "configuration %s: %w", path, err)
	}
	c.resolve(filepath.Dir(path))
	sum := sha256.Sum256(src)
	c.Sum, c.Named = hex.EncodeToString(sum[:]), named(src)
	return c, nil
}

// blank reports a file without any setting: empty, or comments only.
func blank(src []byte) bool {
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

var notFound = regexp.MustCompile(`field (\S+) not found in type (\S+)`)

// explain turns the loader's errors into lines with suggestions.
func explain(err error) string {
	list, ok := errors.AsType[*yaml.LoadErrors](err)
	if !ok {
		return strings.TrimPrefix(err.Error(), "yaml: ")
	}
	var lines []string
	for _, e := range list.Errors {
		m := notFound.FindStringSubmatch(e.Message)
		if m == nil {
			lines = append(lines, fmt.Sprintf("line %d: %s", e.Mark.Line, e.Message))
			continue
		}
		line := fmt.Sprintf("line %d: unknown key %q", e.Mark.Line, m[1])
		switch near, in := nearest(m[1]); {
		case near == m[1]:
			line += fmt.Sprintf(" here (it stands %s)", strings.Join(in, ", or "))
		case near != "":
			line += fmt.Sprintf(" (did you mean %s?)", near)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// place is where a key of the configuration stands.
type place struct{ key, in string }

func (p place) where() string {
	if p.in == "" {
		return "at the top"
	}
	return "in " + p.in
}

// nearest is the key of the whole configuration that a typo was closest to, and
// where it stands.
func nearest(word string) (best string, in []string) {
	distance := len(word)/3 + 1
	for _, p := range places(reflect.TypeFor[Config](), "") {
		switch d := edits(word, p.key); {
		case p.key == best:
			in = append(in, p.where())
		case d < distance || d == distance && best == "":
			best, distance, in = p.key, d, []string{p.where()}
		}
	}
	return best, in
}

// places are the keys of a type, by name and then by where they stand.
func places(t reflect.Type, in string) []place {
	var out []place
	switch t.Kind() {
	case reflect.Pointer:
		return places(t.Elem(), in)
	case reflect.Slice, reflect.Map:
		return places(t.Elem(), in+".*")
	case reflect.Struct:
		for i := range t.NumField() {
			key, inline := strings.CutSuffix(t.Field(i).Tag.Get("yaml"), ",inline")
			switch {
			case inline:
				out = append(out, places(t.Field(i).Type, in)...)
			case key != "":
				out = append(append(out, place{key, in}), places(t.Field(i).Type, strings.TrimPrefix(in+"."+key, "."))...)
			}
		}
	}
	slices.SortFunc(out, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.in, b.in)) })
	return slices.Compact(out)
}

func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := before
			if a[i-1] != b[j-1] {
				cost++
			}
			before = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}

// maxPrice of a million tokens keeps sums finite (L14).
const maxPrice = 1e9

// check reports every value that cannot be meant.
func (c *Config) check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for name, p := range c.Providers {
		if !slices.Contains([]string{"openai", "anthropic", "offline", "scripted"}, p.Type) {
			add("provider %s: unknown type %q (openai, anthropic, offline or scripted)", name, p.Type)
		}
		if p.Type == "scripted" && p.File == "" {
			add("provider %s: scripted needs file", name)
		}
		if p.APIKeyEnv != "" && p.APIKeyFile != "" {
			add("provider %s: only one of api_key_env and api_key_file", name)
		}
		if (p.Type == "openai" || p.Type == "anthropic") && p.Model == "" {
			add("provider %s: model is missing", name)
		}
		if err := p.Breaker.Check("providers." + name + ".breaker"); err != nil {
			errs = append(errs, err)
		}
		for model, price := range p.Prices {
			for _, p := range []float64{price.Input, price.Output} {
				if !(p >= 0 && p <= maxPrice) {
					add("provider %s: the price of %s is %v; it must be from 0 to %v", name, model, p, maxPrice)
				}
			}
		}
	}
	if c.DefaultProvider != "" {
		if _, ok := c.Providers[c.DefaultProvider]; !ok {
			add("default_provider %q is no provider", c.DefaultProvider)
		}
	}
	ids := map[string]bool{}
	for _, a := range c.Agents {
		if a.ID == "" {
			add("an agent has no id")
		}
		if ids[a.ID] {
			add("two agents have the id %q", a.ID)
		}
		ids[a.ID] = true
		if a.MaxIterations < 0 || a.MaxTokens < 0 {
			add("agent %s: limits must not be negative", a.ID)
		}
		if err := a.Permissions.Check("permissions of agent " + a.ID); err != nil {
			errs = append(errs, err)
		}
		if _, ok := c.Providers[a.Provider]; a.Provider != "" && !ok {
			add("agent %s: provider %q is not configured", a.ID, a.Provider)
		}
	}
	if c.DefaultAgent != "" && !ids[c.DefaultAgent] {
		add("default_agent %q is no agent", c.DefaultAgent)
	}
	for _, s := range c.Skills {
		if s.ID == "" || (s.Tool == "") == (s.Agent == "") {
			add("skill %q needs an id and exactly one of tool and agent", s.ID)
		}
	}
	skills := map[string]bool{}
	for _, s := range c.Skills {
		if skills[s.ID] {
			add("two skills have the id %q", s.ID)
		}
		skills[s.ID] = true
	}
	for _, s := range c.Skills {
		for _, id := range slices.Concat(s.DependsOn, s.Implies, s.GuardedBy) {
			if !skills[id] {
				add("skill %s: %q is no skill", s.ID, id)
			}
		}
		if s.Gate != nil && (!skills[s.Gate.Skill] || s.Gate.Expr == "") {
			add("skill %s: a gate needs a skill that exists, and an expr", s.ID)
		}
	}
	if p := c.Planner; p.Mode != "" && !slices.Contains([]string{"auto", "rules", "model"}, p.Mode) {
		add("planner.mode: %q is not auto, rules or model", p.Mode)
	}
	if _, ok := c.Providers[c.Planner.Provider]; c.Planner.Provider != "" && !ok {
		add("planner.provider: %q is not configured", c.Planner.Provider)
	}
	if n := c.Planner.MaxReplans; n != nil && (*n < 0 || *n > 20) {
		add("planner.max_replans: %d is not 0 to 20", *n)
	}
	if o := c.Planner.OnError; o != "" && o != "fail" && o != "replan" {
		add("planner.on_error: %q is neither fail nor replan", o)
	}
	if c.Planner.MaxSteps < 0 || c.Planner.MaxSteps > 100 || c.Planner.MaxTokens < 0 {
		add("planner: max_steps is 1 to 100, max_tokens not negative")
	}
	if err := c.Tools.Permissions.Check("tools.permissions"); err != nil {
		errs = append(errs, err)
	}
	for name, b := range c.Tools.Breakers {
		if err := b.Check("tools.breakers." + name); err != nil {
			errs = append(errs, err)
		}
	}
	for plan, p := range c.Tools.Plans {
		if err := p.Check("tools.plans." + plan); err != nil {
			errs = append(errs, err)
		}
	}
	for name, s := range c.MCP.Servers {
		if err := s.Check(name); err != nil {
			errs = append(errs, err)
		}
	}
	for name, s := range c.Secrets {
		if (s.Env == "") == (s.File == "") {
			add("secret %s needs exactly one of env and file", name)
		}
		if slices.Contains(s.Tools, "http") && len(s.Hosts) == 0 {
			add("secret %s may be used by http: list the hosts that may be told it", name)
		}
	}
	if _, err := c.Retention.Policy(); err != nil {
		add("retention: %w", err)
	}
	for name, every := range map[string]string{"retention.every": c.Retention.Every, "backup.every": c.Backup.Every} {
		if _, err := Age(every); err != nil && (name != "backup.every" || every != never) {
			add("%s: %w", name, err)
		}
	}
	if c.Backup.Hourly < 0 || c.Backup.Daily < 0 || c.Backup.Weekly < 0 {
		add("backup: the number of backups to keep must not be negative")
	}
	if _, err := encrypt.Recipients(c.Backup.Recipients); err != nil {
		add("backup.recipients: %w", err)
	}
	if c.Approvals.Timeout < 0 {
		add("approvals.timeout is negative")
	}
	if c.Engine.MaxRunning < 0 || c.Engine.MaxNodes < 0 {
		add("engine: limits must not be negative")
	}
	if err := c.Notifications.check(); err != nil {
		add("notifications: %w", err)
	}
	if err := c.Login.check(); err != nil {
		add("login: %w", err)
	}
	if _, err := c.Server.Proxies(); err != nil {
		add("server.trusted_proxies: %w", err)
	}
	if c.Server.Listen == SocketScheme {
		add("server.listen: say which socket, as unix:/run/kairos/kairos.sock")
	}
	if _, err := c.Server.Mode(); err != nil {
		add("server.socket_mode: %w", err)
	}
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		add("server: tls_cert and tls_key go together")
	}
	return errors.Join(errs...)
}

// Age reads a retention age: Go's durations, and days as 90d; empty is 0.
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
	c.Backup.Dir = abs(c.Backup.Dir)
	c.Notifications.resolve(abs)
	if o := c.Login.OIDC; o != nil {
		o.ClientSecretFile, o.CAFile = abs(o.ClientSecretFile), abs(o.CAFile)
	}
	if path, isSocket := SocketOf(c.Server.Listen); isSocket {
		c.Server.Listen = SocketScheme + abs(path)
	}
	c.Server.TLSCert, c.Server.TLSKey = abs(c.Server.TLSCert), abs(c.Server.TLSKey)
}
