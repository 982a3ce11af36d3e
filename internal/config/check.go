package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/encrypt"
)

// maxPrice of a million tokens keeps sums finite.
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
			add("unknown default_provider %q", c.DefaultProvider)
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
		add("unknown default_agent %q", c.DefaultAgent)
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
				add("skill %s: unknown skill %q", s.ID, id)
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
			add("secret %s may be used by http: list its allowed hosts", name)
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
