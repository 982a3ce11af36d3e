package assemble

import (
	"context"
	"log/slog"
	"slices"

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/planning"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
)

// This file builds a server from its configuration.

// NewRegistry returns a registry of tools and of the agents and skills of a configuration.
func NewRegistry(cfg config.Config, tools *tool.Box) (*handler.Registry, error) {
	r := handler.New(tools.Set())
	m, err := newModels(cfg)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "configuration: %w", err)
	}
	r.SetModels(m)
	skills := map[string]planner.SkillInfo{}
	for _, s := range cfg.Skills {
		info := planner.SkillInfo{Tool: s.Tool, Agent: s.Agent, OutputSchema: s.OutputSchema, Product: s.Product()}
		if info.OutputSchema == nil {
			if info.OutputSchema, err = planning.GateSchema(s.ID, newSkills(cfg)); err != nil {
				return nil, domain.Errorf(domain.CodeInvalid, "configuration: skill %s: %w", s.ID, err)
			}
			info.Gate = info.OutputSchema != nil
		}
		skills[s.ID] = info
	}
	r.SetSkills(skills)
	return r, nil
}

// NewEngine creates an engine on a store, with its planner. Close the toolbox after the engine has
// stopped.
func NewEngine(
	ctx context.Context,
	s *store.Store,
	cfg config.Config,
	log *slog.Logger,
	o engine.Options,
	guard *tool.Guard,
) (*engine.Engine, *planning.Service, *tool.Box, error) {
	secrets, err := newSecrets(cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	e, asker, tools, _, err := NewEngineWith(ctx, s, cfg, secrets, log, o, guard)
	return e, asker, tools, err
}

// NewEngineWith is NewEngine with given secrets.
func NewEngineWith(
	ctx context.Context,
	s *store.Store,
	cfg config.Config,
	secrets *Secrets,
	log *slog.Logger,
	o engine.Options,
	guard *tool.Guard,
) (*engine.Engine, *planning.Service, *tool.Box, *handler.Registry, error) {
	if guard == nil {
		guard = &tool.Guard{}
	}
	guard.Files(OwnFiles(s)...)
	log = secrets.Logger(log)
	tools, registry, err := NewCatalog(ctx, s, cfg, secrets, log, o.Safe, guard, nil, nil)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if tools.OnClose, err = keep(ctx, s, registry.Models(), tools, log); err != nil {
		tools.Close()
		return nil, nil, nil, nil, err
	}
	o.MaxRunning, o.MaxNodes, o.SeparateApprovals, o.ConsentTimeout, o.MaxReplans = cfg.Engine.MaxRunning, cfg.Engine.MaxNodes,
		cfg.Approvals.Separate, cfg.Approvals.Timeout, MaxReplans(
			cfg.Planner,
		)
	e, err := engine.New(engine.Config{Store: s, Registry: registry, Secrets: secrets, Callback: Callback(s, cfg), Logger: log, Options: o})
	if err != nil {
		tools.Close()
		return nil, nil, nil, nil, err
	}
	s.OnCommit(e.HandleCommit)
	asker := NewAsker(e, registry, tools, s, cfg)
	e.SetReplanner(asker)
	return e, asker, tools, registry, nil
}

// NewCatalog creates the tools of a configuration with their servers, and the handlers of nodes
// with their agents, models, and skills. It takes over the state of the previous catalog, which may
// be nil.
func NewCatalog(
	ctx context.Context,
	s *store.Store,
	cfg config.Config,
	secrets *Secrets,
	log *slog.Logger,
	idle bool,
	guard *tool.Guard,
	before *tool.Box,
	known *handler.Models,
) (*tool.Box, *handler.Registry, error) {
	for _, name := range secrets.readable {
		log.Warn("every user of this machine can read the file of a secret", "secret", name)
	}
	to := tool.BoxOptions{
		Tools:   cfg.Tools,
		Servers: cfg.MCP.Servers,
		Guard:   guard,
		Before:  before,
		Pins:    s,
		Idle:    idle,
		Logger:  log,
		Mask:    secrets.Mask,
		Version: buildinfo.Read().Version,
		PidFile: pidFile(s),
	}
	tools, err := tool.NewBox(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	registry, err := NewRegistry(cfg, tools)
	if err != nil {
		tools.Close()
		return nil, nil, err
	}
	registry.SetMemory(s)
	models := registry.Models()
	tools.Models = models
	if known != nil {
		models.Succeed(known)
	}
	models.Watch(tools.Calls, tools.Circuits)
	for _, p := range registry.Catalog().Check() {
		// This is not fatal, because the tools of an unavailable server are missing too.
		log.Error(
			"the configuration lists tools or skills that no plan can use",
			"code",
			p.Code,
			"problem",
			p.Message,
			"suggestion",
			p.Suggestion,
		)
	}
	return tools, registry, nil
}

// keep loads the state of circuits, providers, and calls from before a restart, and stores later
// changes until close is called.
func keep(ctx context.Context, s *store.Store, models *handler.Models, tools *tool.Box, log *slog.Logger) (closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, c := range slices.Backward(closers) {
			c()
		}
	}
	for _, begin := range []func() (func(), error){
		func() (func(), error) { return tools.Circuits.Keep(ctx, s, log) },
		func() (func(), error) { return models.Keep(ctx, s, log) },
		func() (func(), error) { return tools.Calls.Keep(ctx, s, log) },
	} {
		c, err := begin()
		if err != nil {
			closeAll()
			return nil, err
		}
		closers = append(closers, c)
	}
	return closeAll, nil
}

// pidFile returns the path of the file that lists the processes of tool servers. It is empty if the
// database is in memory.
func pidFile(s *store.Store) string {
	if path := s.Files()[0]; path != "" {
		return path + ".mcp"
	}
	return ""
}

// OwnFiles returns the files of a database, which no tool may access.
func OwnFiles(s *store.Store) []string {
	own := s.Files()
	if path := pidFile(s); path != "" {
		own = append(own, path)
	}
	return own
}
