package assemble

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

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/a2aclient"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/model/anthropic"
	"github.com/kairosd/kairosd/internal/model/offline"
	"github.com/kairosd/kairosd/internal/model/openai"
	"github.com/kairosd/kairosd/internal/model/scripted"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
)

// offlineProvider is the provider of a server without configured providers.
const offlineProvider = "offline"

// newModels creates the providers and agents of a configuration without calling them.
func newModels(cfg config.Config) (*handler.Models, error) {
	c := handler.Config{
		Providers:       map[string]llm.Provider{offlineProvider: offline.Provider{}},
		Prices:          map[string]map[string]model.Price{},
		About:           map[string]domain.ProviderInfo{offlineProvider: {Type: "offline"}},
		Models:          map[string][]string{},
		Breakers:        map[string]circuit.Settings{},
		DefaultProvider: cfg.DefaultProvider,
		DefaultAgent:    cfg.DefaultAgent,
	}
	for name, p := range cfg.Providers {
		made, err := newProvider(name, p)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		c.Providers[name], c.Prices[name] = made, p.Prices
		c.About[name] = domain.ProviderInfo{Type: p.Type, Model: p.Model, BaseURL: withoutUser(p.BaseURL), Key: keyInfo(p)}
		if (p.Type == "openai" || p.Type == "anthropic") && !slices.Contains(p.Models, "*") { // other types accept any model
			c.Models[name] = append(slices.AppendSeq([]string{p.Model}, maps.Keys(p.Prices)), p.Models...)
		}
		c.Breakers[name] = p.Breaker
		if cfg.DefaultProvider == "" && len(cfg.Providers) == 1 {
			c.DefaultProvider = name // the only provider
		}
	}
	c.DefaultProvider = cmp.Or(c.DefaultProvider, offlineProvider)
	for _, a := range cfg.Agents {
		remote, err := newRemote(a)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", a.ID, err)
		}
		c.Agents = append(
			c.Agents,
			handler.Agent{
				ID:              a.ID,
				Name:            cmp.Or(a.Name, a.ID),
				Description:     a.Description,
				Icon:            a.Icon,
				Color:           a.Color,
				Capabilities:    a.Capabilities,
				SystemPrompt:    a.SystemPrompt,
				Provider:        a.Provider,
				Model:           a.Model,
				MaxTokens:       a.MaxTokens,
				Temperature:     a.Temperature,
				MaxIterations:   a.MaxIterations,
				Tools:           a.Tools,
				Permissions:     a.Permissions,
				TriggerKeywords: a.TriggerKeywords,
				Selectable:      a.Selectable == nil || *a.Selectable,
				Remote:          remote,
			},
		)
	}
	return handler.NewModels(c)
}

// newRemote returns the server of an agent, or nil for an agent of this server.
func newRemote(a config.Agent) (*handler.Remote, error) {
	if a.A2A.URL == "" {
		return nil, nil
	}
	c := a2aclient.Config{URL: strings.TrimSuffix(a.A2A.URL, "/"), Skill: a.A2A.Skill}
	if a.A2A.TokenEnv+a.A2A.TokenFile != "" {
		c.Token = a.A2A.Bearer
	}
	client, err := a2aclient.New(c)
	if err != nil {
		return nil, err
	}
	return &handler.Remote{Client: client, Deduplicates: a.A2A.Deduplicates, FailOnInput: a.A2A.InputRequired == "fail"}, nil
}

func newProvider(name string, p config.Provider) (llm.Provider, error) {
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

// withoutUser returns an address without user information, which may contain a secret.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// apiKey reads the key of a provider from its configured source. An unset environment variable
// means no key: local servers need none, and other providers report it themselves.
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

// keyInfo returns the source of a provider's key, and the modification time of its file.
func keyInfo(p config.Provider) *domain.KeyInfo {
	key, err := apiKey(p)
	info := &domain.KeyInfo{Set: err == nil && key != ""}
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

// NewAsker creates the planner that converts requests to plans. With the offline provider, no model
// plans.
func NewAsker(e *engine.Engine, r *handler.Registry, tools *tool.Box, s *store.Store, cfg config.Config) *planning.Service {
	p, m := cfg.Planner, r.Models()
	general, _ := m.Agent("")
	c := planning.Config{
		Mode:         planning.Mode(p.Mode),
		NoHeuristics: p.UseHeuristics != nil && !*p.UseHeuristics,
		DefaultAgent: general.ID,
		OnError:      p.OnError,
		Recorded:     s.SkillMedians,
		Denied:       r.Denied,
		State:        func() planning.State { return ownState(e, m, tools) },
		Role: func(ctx context.Context, name string) (domain.Role, error) {
			return auth.RoleNow(ctx, s, name, "runs:write", time.Now())
		},
	}
	for _, a := range m.Agents() {
		c.Agents = append(c.Agents, planning.Agent{ID: a.ID, Name: a.Name, Description: a.Description, Icon: a.Icon, Color: a.Color,
			Capabilities: a.Capabilities, TriggerKeywords: a.TriggerKeywords, System: a.System, Selectable: a.Selectable})
	}
	c.Skills, c.MaxSteps = newSkills(cfg), p.MaxSteps
	for i := range c.Skills {
		if a, ok := m.Agent(c.Skills[i].Agent); ok && c.Skills[i].Agent != "" {
			c.Skills[i].Uses = usesOf(cfg, m, a)
		}
	}
	own := cmp.Or(p.Provider, m.DefaultProvider())
	c.Generators = map[string]*planning.Generator{}
	for name, provider := range cfg.Providers {
		if provider.Type == "offline" {
			continue
		}
		model, _ := m.Provider(name) // the name is configured
		g := &planning.Generator{
			Provider:    model,
			Name:        name,
			MaxSteps:    p.MaxSteps,
			MaxTokens:   p.MaxTokens,
			Temperature: p.Temperature,
			Agents:      c.Agents,
		}
		if name == own {
			g.Model, c.Generator = p.Model, g
		}
		c.Generators[name] = g
	}
	return planning.NewService(planning.New(c), e, p.AutoAccept)
}

// ownState returns the state of the daemon that planning takes into account: its load, the
// remaining rate limits of the providers, and the tools, providers, and agents that are
// unavailable.
func ownState(e *engine.Engine, m *handler.Models, tools *tool.Box) planning.State {
	out := planning.State{RateLimits: map[string]planning.RateLimit{}, Unavailable: map[string]string{}}
	load := e.Load()
	if _, slots := e.Slots(); slots > 0 {
		out.Load = min(1, float64(load.Nodes)/float64(slots))
	}
	now := time.Now()
	for _, p := range m.ProviderInfos() {
		for _, l := range p.Limits {
			if l.Of == "requests" && l.ResetAt.After(now) {
				out.RateLimits[p.Name] = planning.RateLimit{Remaining: l.Remaining, Limit: l.Limit}
			}
		}
		switch {
		case p.Disabled != nil:
			out.Unavailable[p.Name] = disabled(p.Disabled)
		case p.Circuit.Refuses():
			out.Unavailable[p.Name] = opened(p.Circuit)
		case p.Key != nil && !p.Key.Set && p.BaseURL == "": // a local server may need no key
			out.Unavailable[p.Name] = "the provider has no API key (" + p.Key.Source + ")"
		}
	}
	for _, a := range m.Agents() {
		name := cmp.Or(a.Provider, m.DefaultProvider())
		if why, ok := out.Unavailable[name]; ok {
			out.Unavailable[a.ID] = "its provider " + name + " is not available: " + why
		} else if !m.HasProvider(name) {
			out.Unavailable[a.ID] = "its provider " + name + " is not configured"
		}
	}
	list, err := tools.Tools(context.Background())
	if err != nil {
		return out // treat every tool as available
	}
	for _, t := range list {
		switch {
		case t.Disabled != nil:
			out.Unavailable[t.Name] = disabled(t.Disabled)
		case t.Refuses():
			out.Unavailable[t.Name] = opened(t.Circuits[0])
		case t.State != mcp.StateReady:
			out.Unavailable[t.Name] = cmp.Or(t.Reason, t.State)
		}
	}
	return out
}

func disabled(s *domain.Disablement) string {
	out := "disabled by " + s.By
	if s.Reason != "" {
		out += " (" + s.Reason + ")"
	}
	return out
}

func opened(c domain.Circuit) string {
	return "its circuit is open until " + c.OpenUntil.UTC().Format(time.RFC3339)
}

// newSkills returns the skills of a configuration for planners.
func newSkills(cfg config.Config) []planning.Skill {
	var out []planning.Skill
	for _, s := range cfg.Skills {
		skill := planning.Skill{
			ID:              s.ID,
			Description:     s.Description,
			Keywords:        s.Keywords,
			Produces:        s.Produces,
			Consumes:        s.Consumes.Names(),
			From:            s.Consumes,
			OutputSchema:    s.OutputSchema,
			Params:          s.Params,
			Defaults:        s.Defaults,
			DependsOn:       s.DependsOn,
			Implies:         s.Implies,
			GuardedBy:       s.GuardedBy,
			MinComplexity:   s.MinComplexity,
			EstimatedMs:     s.EstimatedMs,
			EstimatedTokens: s.EstimatedTokens,
			Tool:            s.Tool,
			Agent:           s.Agent,
		}
		if s.Gate != nil {
			skill.Gate = &planning.Gate{Skill: s.Gate.Skill, Expr: s.Gate.Expr}
		}
		if s.Retry != nil {
			skill.Retry = &planner.StepRetry{MaxAttempts: s.Retry.MaxAttempts, BackoffMs: s.Retry.BackoffMs}
		}
		out = append(out, skill)
	}
	return out
}

// usesOf returns the resources that a call of an agent uses: its provider, by name and by type.
func usesOf(cfg config.Config, m *handler.Models, a handler.Agent) []string {
	name := cmp.Or(a.Provider, m.DefaultProvider())
	if kind := cfg.Providers[name].Type; kind != "" && kind != name {
		return []string{name, kind}
	}
	return []string{name}
}

// MaxReplans converts the configured value to the engine's option. An absent value means the
// default.
func MaxReplans(p config.Planner) int {
	switch {
	case p.MaxReplans == nil:
		return 0
	case *p.MaxReplans == 0:
		return -1
	}
	return *p.MaxReplans
}
