package cli

import (
	"log/slog"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/supervisor"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
)

// This file is the one place that knows every package: it builds an
// installation from its configuration.

// newRegistry offers the tools, agents and skills of a configuration. The guard
// holds what no tool may reach; nil: nothing beyond the built-in rules.
func newRegistry(cfg config.Config, guard *tool.Guard) (*handler.Registry, error) {
	tools, err := tool.Builtin(cfg.Tools, guard)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeInvalid, "configuration: %w", err)
	}
	r := handler.New(tools)
	m, err := newModels(cfg)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeInvalid, "configuration: %w", err)
	}
	r.SetModels(m)
	skills := map[string]planner.SkillInfo{}
	for _, s := range cfg.Skills {
		skills[s.ID] = planner.SkillInfo{Tool: s.Tool, Agent: s.Agent}
	}
	r.SetSkills(skills)
	return r, nil
}

// newEngine puts an engine on a store, and on the engine what makes plans for it.
func newEngine(s *store.Store, cfg config.Config, log *slog.Logger, o engine.Options, guard *tool.Guard) (*engine.Engine, *supervisor.Service, error) {
	if guard == nil {
		guard = &tool.Guard{}
	}
	guard.Files(s.Files()...)
	registry, err := newRegistry(cfg, guard)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := newSecrets(cfg)
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.New(engine.Config{Store: s, Registry: registry, Secrets: secrets, Logger: secrets.logger(log), Options: o})
	if err != nil {
		return nil, nil, err
	}
	s.OnCommit(e.HandleCommit)
	return e, newAsker(e, registry.Models(), cfg), nil
}
