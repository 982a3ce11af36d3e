package cli

import (
	"context"
	"log/slog"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/supervisor"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/internal/toolbox"
	"github.com/kairosd/kairosd/planner"
)

// This file is the one place that knows every package: it builds an
// installation from its configuration.

// newRegistry offers tools, and the agents and skills of a configuration.
func newRegistry(cfg config.Config, tools *toolbox.Box) (*handler.Registry, error) {
	r := handler.New(tools.Set())
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
// The toolbox is to be closed after the engine has stopped.
func newEngine(ctx context.Context, s *store.Store, cfg config.Config, log *slog.Logger, o engine.Options, guard *tool.Guard) (*engine.Engine, *supervisor.Service, *toolbox.Box, error) {
	secrets, err := newSecrets(cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	return newEngineWith(ctx, s, cfg, secrets, log, o, guard)
}

// newEngineWith is newEngine with secrets that somebody else looks after.
func newEngineWith(ctx context.Context, s *store.Store, cfg config.Config, secrets *secrets, log *slog.Logger, o engine.Options, guard *tool.Guard) (*engine.Engine, *supervisor.Service, *toolbox.Box, error) {
	if guard == nil {
		guard = &tool.Guard{}
	}
	guard.Files(s.Files()...)
	log = secrets.logger(log)
	for _, name := range secrets.readable {
		log.Warn("everybody on this machine may read the file of a secret", "secret", name)
	}
	to := toolbox.Options{Tools: cfg.Tools, Servers: cfg.MCP.Servers, Guard: guard, Pins: s, Idle: o.Safe, Logger: log, Audit: s.Audit, Mask: secrets.Mask, Version: thisBuild().Version}
	if path := s.Files()[0]; path != "" {
		to.PidFile = path + ".mcp"
		guard.Files(to.PidFile)
	}
	tools, err := toolbox.New(ctx, to)
	if err != nil {
		return nil, nil, nil, err
	}
	registry, err := newRegistry(cfg, tools)
	if err != nil {
		tools.Close()
		return nil, nil, nil, err
	}
	registry.SetMemory(s)
	o.MaxReplans = maxReplans(cfg.Planner)
	tools.Models = registry.Models()
	registry.Models().Watch(tools.Calls, tools.Circuits)
	keepCircuits, err := tools.Circuits.Keep(ctx, s, log)
	if err != nil {
		tools.Close()
		return nil, nil, nil, err
	}
	tools.OnClose = keepCircuits
	keepHealth, err := registry.Models().Keep(ctx, s, log)
	if err != nil {
		tools.Close()
		return nil, nil, nil, err
	}
	tools.OnClose = func() { keepHealth(); keepCircuits() }
	keepCalls, err := tools.Calls.Keep(ctx, s, log)
	if err != nil {
		tools.Close()
		return nil, nil, nil, err
	}
	tools.OnClose = func() { keepHealth(); keepCircuits(); keepCalls() }
	for _, p := range registry.Catalog().Check() {
		// Not fatal: a tool server that is down takes its tools with it.
		log.Error("the configuration offers what no plan can use", "code", p.Code, "problem", p.Message, "suggestion", p.Suggestion)
	}
	e, err := engine.New(engine.Config{Store: s, Registry: registry, Secrets: secrets, Logger: log, Options: o})
	if err != nil {
		tools.Close()
		return nil, nil, nil, err
	}
	s.OnCommit(e.HandleCommit)
	asker := newAsker(e, registry, s, cfg)
	e.SetReplanner(asker)
	return e, asker, tools, nil
}
