package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/provider"
	"github.com/kairosd/kairosd/internal/provider/anthropic"
	"github.com/kairosd/kairosd/internal/provider/offline"
	"github.com/kairosd/kairosd/internal/provider/openai"
	"github.com/kairosd/kairosd/internal/provider/scripted"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/supervisor"
	"github.com/kairosd/kairosd/planner"
)

// offlineProvider is the provider of an installation that configures none.
const offlineProvider = "offline"

// newModels makes the providers and agents of a configuration. Nothing is called.
func newModels(cfg config.Config) (*handler.Models, error) {
	c := handler.Config{Providers: map[string]agent.Provider{offlineProvider: offline.Provider{}}, Prices: map[string]map[string]provider.Price{},
		About:  map[string]kairos.ProviderInfo{offlineProvider: {Type: "offline"}},
		Models: map[string][]string{}, Breakers: map[string]circuit.Settings{}, DefaultProvider: cfg.DefaultProvider, DefaultAgent: cfg.DefaultAgent}
	for name, p := range cfg.Providers {
		made, err := newProvider(name, p)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		c.Providers[name], c.Prices[name] = made, p.Prices
		c.About[name] = kairos.ProviderInfo{Type: p.Type, Model: p.Model, BaseURL: withoutUser(p.BaseURL), Key: keyInfo(p)}
		if (p.Type == "openai" || p.Type == "anthropic") && !slices.Contains(p.Models, "*") { // the others call whatever they are asked for
			c.Models[name] = append(slices.AppendSeq([]string{p.Model}, maps.Keys(p.Prices)), p.Models...)
		}
		c.Breakers[name] = p.Breaker
		if cfg.DefaultProvider == "" && len(cfg.Providers) == 1 {
			c.DefaultProvider = name // the only one there is
		}
	}
	c.DefaultProvider = cmp.Or(c.DefaultProvider, offlineProvider)
	for _, a := range cfg.Agents {
		c.Agents = append(c.Agents, handler.Agent{ID: a.ID, Name: cmp.Or(a.Name, a.ID), Description: a.Description, Icon: a.Icon, Color: a.Color, Capabilities: a.Capabilities,
			SystemPrompt: a.SystemPrompt, Provider: a.Provider, Model: a.Model, MaxTokens: a.MaxTokens, Temperature: a.Temperature, MaxIterations: a.MaxIterations,
			Tools: a.Tools, Permissions: a.Permissions, TriggerKeywords: a.TriggerKeywords, Selectable: a.Selectable == nil || *a.Selectable})
	}
	return handler.NewModels(c)
}

func newProvider(name string, p config.Provider) (agent.Provider, error) {
	key, err := apiKey(p)
	if err != nil {
		return nil, err
	}
	switch p.Type {
	case "openai":
		return openai.New(openai.Config{Name: name, BaseURL: p.BaseURL, Key: key, Model: p.Model}), nil
	case "anthropic":
		return anthropic.New(anthropic.Config{Name: name, BaseURL: p.BaseURL, Key: key, Model: p.Model}), nil
	case "scripted":
		return scripted.Load(p.File)
	}
	return offline.Provider{}, nil
}

// withoutUser is an address without what may be a secret in it.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// apiKey reads a key where the configuration says. An environment variable that
// is not set is no key: servers on one's own machine need none, and the others
// say so themselves.
func apiKey(p config.Provider) (string, error) {
	if p.APIKeyFile != "" {
		b, err := os.ReadFile(p.APIKeyFile)
		if err != nil {
			return "", fmt.Errorf("api_key_file: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	if p.APIKeyEnv == "" {
		return "", nil
	}
	return os.Getenv(p.APIKeyEnv), nil
}

// keyInfo says where a provider's key comes from, and how old its file is.
func keyInfo(p config.Provider) *kairos.KeyInfo {
	key, err := apiKey(p)
	info := &kairos.KeyInfo{Set: err == nil && key != ""}
	switch {
	case p.APIKeyFile != "":
		info.Source = "file " + p.APIKeyFile
		if st, err := os.Stat(p.APIKeyFile); err == nil {
			info.ChangedAt = st.ModTime().UTC()
		}
	case p.APIKeyEnv != "":
		info.Source = "environment variable " + p.APIKeyEnv
	default:
		return nil
	}
	return info
}

// newAsker makes what turns intents into plans. With the offline provider there
// is no model to plan with (ruling 33).
func newAsker(e *engine.Engine, r *handler.Registry, s *store.Store, cfg config.Config) *supervisor.Service {
	p, m := cfg.Planner, r.Models()
	general, _ := m.Agent("")
	c := supervisor.Config{Mode: supervisor.Mode(p.Mode), NoHeuristics: p.UseHeuristics != nil && !*p.UseHeuristics, DefaultAgent: general.ID, OnError: p.OnError, Recorded: s.SkillMedians,
		Denied: r.Denied, Role: func(ctx context.Context, name string) (kairos.Role, error) { return roleNow(ctx, s, name) }}
	for _, a := range m.Agents() {
		c.Agents = append(c.Agents, supervisor.Agent{ID: a.ID, Name: a.Name, Description: a.Description, Icon: a.Icon, Color: a.Color,
			Capabilities: a.Capabilities, TriggerKeywords: a.TriggerKeywords, System: a.System, Selectable: a.Selectable})
	}
	for _, s := range cfg.Skills {
		skill := supervisor.Skill{ID: s.ID, Description: s.Description, Keywords: s.Keywords, Produces: s.Produces, Consumes: s.Consumes, Params: s.Params, Defaults: s.Defaults,
			DependsOn: s.DependsOn, Implies: s.Implies, MinComplexity: s.MinComplexity, EstimatedMs: s.EstimatedMs, EstimatedTokens: s.EstimatedTokens, Tool: s.Tool, Agent: s.Agent}
		if s.Gate != nil {
			skill.Gate = &supervisor.Gate{Skill: s.Gate.Skill, Expr: s.Gate.Expr}
		}
		if s.Retry != nil {
			skill.Retry = &planner.StepRetry{MaxAttempts: s.Retry.MaxAttempts, BackoffMs: s.Retry.BackoffMs}
		}
		c.Skills = append(c.Skills, skill)
	}
	own := cmp.Or(p.Provider, m.DefaultProvider())
	c.Generators = map[string]*supervisor.Generator{}
	for name, provider := range cfg.Providers {
		if provider.Type == "offline" {
			continue
		}
		model, _ := m.Provider(name) // a configured one
		g := &supervisor.Generator{Provider: model, Name: name, MaxSteps: p.MaxSteps, MaxTokens: p.MaxTokens, Temperature: p.Temperature, Agents: c.Agents}
		if name == own {
			g.Model, c.Generator = p.Model, g
		}
		c.Generators[name] = g
	}
	return supervisor.NewService(supervisor.New(c), e, p.AutoAccept)
}

// roleNow is what who started runs under a name may do now. Whoever is at the
// machine may do everything.
func roleNow(ctx context.Context, s *store.Store, name string) (kairos.Role, error) {
	if strings.HasPrefix(name, "cli:") || name == kairos.System.Name {
		return kairos.RoleAdmin, nil
	}
	if token, ok := strings.CutPrefix(name, "token "); ok {
		list, err := s.Tokens(ctx)
		best, now := kairos.Role(""), time.Now()
		for _, t := range list {
			if t.Name == token && (len(t.Scopes) == 0 || slices.Contains(t.Scopes, "runs:write")) && t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(now)) && t.Role.Includes(best) {
				best = t.Role
			}
		}
		return best, err
	}
	u, err := s.User(ctx, name)
	switch {
	case kairos.CodeOf(err) == kairos.CodeNotFound, err == nil && u.Disabled:
		return "", nil
	}
	return u.Role, err
}

// maxReplans is the engine's option: there, absent is the default.
func maxReplans(p config.Planner) int {
	switch {
	case p.MaxReplans == nil:
		return 0
	case *p.MaxReplans == 0:
		return -1
	}
	return *p.MaxReplans
}
