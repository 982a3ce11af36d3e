package assemble

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/walk"
)

// Mock is the result of a node that is not executed.
type Mock struct {
	Output any    `yaml:"output"`
	Error  string `yaml:"error"`
}

// mockRegistry has the catalog of a configuration, but returns mocks.
type mockRegistry struct {
	engine.Registry
	mocks map[string]Mock
}

func (m mockRegistry) Handler(node *walk.ProgramNode) (engine.Handler, bool) {
	return engine.HandlerFunc(func(context.Context, *engine.Call) (engine.Result, error) {
		mock, ok := m.mocks[node.ID]
		switch {
		case !ok:
			f := &walk.Failure{Code: "not_mocked", Permanent: true, NoEffect: true,
				Suggestion: fmt.Sprintf("add to the mock file: %s: {output: …}", node.ID)}
			return engine.Result{}, f.WithMessage("no mock for step %s", node.ID)
		case mock.Error != "":
			return engine.Result{}, (&walk.Failure{Code: "mock", Permanent: true, NoEffect: true}).WithMessage("%s", mock.Error)
		}
		return engine.Result{Output: mock.Output}, nil
	}), true
}

// mocked builds an engine that returns mocks.
func (l *Local) mocked(ctx context.Context, o LocalOptions, log *slog.Logger) (*planning.Service, error) {
	tools, registry, err := Offers(ctx, o.Config)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Config{Store: l.store, Registry: mockRegistry{registry, o.Mocks}, Logger: log,
		Options: engine.Options{OwnRunsOnly: true, StopGrace: time.Second}})
	if err != nil {
		return nil, err
	}
	l.store.OnCommit(e.HandleCommit)
	l.engine, l.tools = e, tools
	return NewAsker(e, registry, tools, l.store, o.Config), nil
}

// Offers returns the tools and handlers of a configuration for callers that run nothing. The
// toolbox is closed; the tools of its servers are listed.
func Offers(ctx context.Context, cfg config.Config) (*tool.Box, *handler.Registry, error) {
	tools, err := tool.NewBox(ctx, tool.BoxOptions{Tools: cfg.Tools, Servers: cfg.MCP.Servers, Version: buildinfo.Read().Version})
	if err != nil {
		return nil, nil, err
	}
	tools.Close()
	registry, err := NewRegistry(cfg, tools)
	return tools, registry, err
}
