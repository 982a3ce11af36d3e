package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/kairosd/kairosd/internal/encrypt"
)

// maxPrice is the maximum price of a million tokens. It keeps sums finite.
const maxPrice = 1e9

// problems collects the problems of a configuration.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// note adds err unless it is nil.
func (p *problems) note(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

// under adds err, with the name of its setting, unless it is nil.
func (p *problems) under(setting string, err error) {
	if err != nil {
		p.add("%s: %w", setting, err)
	}
}

// check reports every invalid value.
func (c *Config) check() error {
	var p problems
	c.checkProviders(&p)
	c.checkAgents(&p)
	c.checkSkills(&p)
	c.checkPlanner(&p)
	c.checkTools(&p)
	c.checkUpkeep(&p)
	c.checkServer(&p)
	return errors.Join(p...)
}

func (c *Config) checkProviders(problems *problems) {
	for name, p := range c.Providers {
		if !slices.Contains([]string{"openai", "anthropic", "offline", "scripted"}, p.Type) {
			problems.add("provider %s: unknown type %q (openai, anthropic, offline or scripted)", name, p.Type)
		}
		if p.Type == "scripted" && p.File == "" {
			problems.add("provider %s: scripted needs file", name)
		}
		if p.APIKeyEnv != "" && p.APIKeyFile != "" {
			problems.add("provider %s: only one of api_key_env and api_key_file", name)
		}
		if (p.Type == "openai" || p.Type == "anthropic") && p.Model == "" {
			problems.add("provider %s: model is missing", name)
		}
		problems.note(p.Breaker.Check("providers." + name + ".breaker"))
		for model, price := range p.Prices {
			for _, p := range []float64{price.Input, price.Output} {
				if !(p >= 0 && p <= maxPrice) {
					problems.add("provider %s: the price of %s is %v; it must be from 0 to %v", name, model, p, maxPrice)
				}
			}
		}
	}
	if _, ok := c.Providers[c.DefaultProvider]; c.DefaultProvider != "" && !ok {
		problems.add("unknown default_provider %q", c.DefaultProvider)
	}
}

func (c *Config) checkAgents(p *problems) {
	ids := map[string]bool{}
	for _, a := range c.Agents {
		if a.ID == "" {
			p.add("an agent has no id")
		}
		if ids[a.ID] {
			p.add("two agents have the id %q", a.ID)
		}
		ids[a.ID] = true
		if a.MaxIterations < 0 || a.MaxTokens < 0 {
			p.add("agent %s: limits must not be negative", a.ID)
		}
		p.note(a.Permissions.Check("permissions of agent " + a.ID))
		a.checkRemote(p)
		if _, ok := c.Providers[a.Provider]; a.Provider != "" && !ok {
			p.add("agent %s: provider %q is not configured", a.ID, a.Provider)
		}
	}
	if c.DefaultAgent != "" && !ids[c.DefaultAgent] {
		p.add("unknown default_agent %q", c.DefaultAgent)
	}
}

// checkRemote checks an agent of another server.
func (a Agent) checkRemote(p *problems) {
	r := a.A2A
	if r == (RemoteAgent{}) {
		return
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		p.add("agent %s: a2a.url must be an http or https address without a user name", a.ID)
	}
	if r.TokenEnv != "" && r.TokenFile != "" {
		p.add("agent %s: only one of a2a.token_env and a2a.token_file", a.ID)
	}
	if m := r.InputRequired; m != "" && m != "wait" && m != "fail" {
		p.add("agent %s: a2a.input_required %q is neither wait nor fail", a.ID, m)
	}
	if a.Provider != "" || a.Model != "" || a.SystemPrompt != "" || len(a.Tools) > 0 {
		p.add("agent %s: an agent of another server has no provider, model, system_prompt, or tools here", a.ID)
	}
}

func (c *Config) checkSkills(p *problems) {
	skills := map[string]bool{}
	for _, s := range c.Skills {
		if s.ID == "" || (s.Tool == "") == (s.Agent == "") {
			p.add("skill %q needs an id and exactly one of tool and agent", s.ID)
		}
		if skills[s.ID] {
			p.add("two skills have the id %q", s.ID)
		}
		skills[s.ID] = true
	}
	for _, s := range c.Skills {
		for _, id := range slices.Concat(s.DependsOn, s.Implies, s.GuardedBy) {
			if !skills[id] {
				p.add("skill %s: unknown skill %q", s.ID, id)
			}
		}
		if s.Gate != nil && (!skills[s.Gate.Skill] || s.Gate.Expr == "") {
			p.add("skill %s: a gate needs a skill that exists, and an expr", s.ID)
		}
	}
}

func (c *Config) checkPlanner(p *problems) {
	planner := c.Planner
	if m := planner.Mode; m != "" && !slices.Contains([]string{"auto", "rules", "model"}, m) {
		p.add("planner.mode: %q is not auto, rules or model", m)
	}
	if _, ok := c.Providers[planner.Provider]; planner.Provider != "" && !ok {
		p.add("planner.provider: %q is not configured", planner.Provider)
	}
	if n := planner.MaxReplans; n != nil && (*n < 0 || *n > 20) {
		p.add("planner.max_replans: %d is not 0 to 20", *n)
	}
	if o := planner.OnError; o != "" && o != "fail" && o != "replan" {
		p.add("planner.on_error: %q is neither fail nor replan", o)
	}
	if planner.MaxSteps < 0 || planner.MaxSteps > 100 || planner.MaxTokens < 0 {
		p.add("planner: max_steps is 1 to 100, max_tokens not negative")
	}
}

// checkTools checks tools, tool servers, and secrets.
func (c *Config) checkTools(p *problems) {
	p.note(c.Tools.Permissions.Check("tools.permissions"))
	for name, b := range c.Tools.Breakers {
		p.note(b.Check("tools.breakers." + name))
	}
	for plan, permissions := range c.Tools.Plans {
		p.note(permissions.Check("tools.plans." + plan))
	}
	for name, s := range c.MCP.Servers {
		p.note(s.Check(name))
	}
	for name, s := range c.Secrets {
		if (s.Env == "") == (s.File == "") {
			p.add("secret %s needs exactly one of env and file", name)
		}
		if slices.Contains(s.Tools, "http") && len(s.Hosts) == 0 {
			p.add("secret %s may be used by http: list its allowed hosts", name)
		}
	}
}

// checkUpkeep checks retention and backups.
func (c *Config) checkUpkeep(p *problems) {
	_, err := c.Retention.Policy()
	p.under("retention", err)
	for name, every := range map[string]string{"retention.every": c.Retention.Every, "backup.every": c.Backup.Every} {
		if _, err := Age(every); name != "backup.every" || every != never {
			p.under(name, err)
		}
	}
	if c.Backup.Hourly < 0 || c.Backup.Daily < 0 || c.Backup.Weekly < 0 {
		p.add("backup: the number of backups to keep must not be negative")
	}
	_, err = encrypt.Recipients(c.Backup.Recipients)
	p.under("backup.recipients", err)
}

// checkServer checks the engine, notifications, logins, and listeners.
func (c *Config) checkServer(p *problems) {
	if c.Approvals.Timeout < 0 {
		p.add("approvals.timeout is negative")
	}
	if c.Engine.MaxRunning < 0 || c.Engine.MaxNodes < 0 {
		p.add("engine: limits must not be negative")
	}
	switch c.Engine.Backend {
	case "", BackendSQLite, BackendTemporal:
	default:
		p.add("engine.backend is %q; use sqlite or temporal", c.Engine.Backend)
	}
	p.under("engine.temporal", c.Engine.Temporal.check())
	p.under("notifications", c.Notifications.check())
	p.under("login", c.Login.check())
	p.under("hooks", c.Hooks.check())
	_, err := c.Server.Proxies()
	p.under("server.trusted_proxies", err)
	if c.Server.Listen == SocketScheme {
		p.add("server.listen: name the socket, such as unix:/run/kairos/kairos.sock")
	}
	_, err = c.Server.Mode()
	p.under("server.socket_mode", err)
	if (c.Server.TLSCert == "") != (c.Server.TLSKey == "") {
		p.add("server: tls_cert and tls_key go together")
	}
}
