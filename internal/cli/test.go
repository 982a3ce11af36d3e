package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner"
)

// mock is what a node gives instead of running.
type mock struct {
	Output any    `yaml:"output"`
	Error  string `yaml:"error"`
}

func (c *App) testCommand() *cobra.Command {
	var mocks, input, prompt string
	cmd := &cobra.Command{
		Use: "test PLAN --mock FILE", Short: "Run a plan with everything that has an effect mocked", Args: cobra.ExactArgs(1),
		Long: `Runs a plan in a throw-away database. Nodes that are pure run as they are; every
other node gives what the mock file says: a map from node id to {output: …} or
{error: …}. A node without a mock fails and says so. Nothing outside is touched.`,
		Example: "  kairos test report.yaml --mock report.mock.yaml --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			src, format, err := c.readPlan(args[0])
			if err != nil {
				return err
			}
			table := map[string]mock{}
			if mocks != "" {
				b, err := os.ReadFile(mocks)
				if err != nil {
					return exit.Usage("--mock: %w", err)
				}
				if err := yaml.Load(b, &table, yaml.WithKnownFields()); err != nil {
					return exit.Usage("--mock %s: %w", mocks, err)
				}
			}
			value, err := c.input(cmd, prompt, input)
			if err != nil {
				return err
			}
			b, err := c.mocked(cmd.Context(), table)
			if err != nil {
				return err
			}
			defer c.close(b)
			_, v, _, problems, err := b.SavePlan(cmd.Context(), c.actor(), src, format, "cli", "")
			if err != nil {
				c.problems(args[0], problems)
				return err
			}
			r, err := b.Start(cmd.Context(), c.actor(), domain.StartRequest{Plan: v.PlanID, Hash: v.Hash, Input: value, Origin: "cli"})
			if err != nil {
				return err
			}
			return c.follow(cmd.Context(), b, r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&mocks, "mock", "", "YAML or JSON file: node id → {output: …} or {error: …}")
	f.StringVar(&prompt, "prompt", "", "the input as text")
	f.StringVar(&input, "input", "", "the input as JSON, or @FILE")
	cmd.MarkFlagsMutuallyExclusive("prompt", "input")
	return cmd
}

// mockRegistry offers an installation's catalog, but runs mocks.
type mockRegistry struct {
	engine.Registry
	mocks map[string]mock
}

func (m mockRegistry) Handler(node *planner.ProgramNode) (engine.Handler, bool) {
	return engine.HandlerFunc(func(context.Context, *engine.Call) (engine.Result, error) {
		mock, ok := m.mocks[node.ID]
		switch {
		case !ok:
			return engine.Result{}, &planner.Failure{Code: "not_mocked", Message: fmt.Sprintf("node %s has no mock", node.ID), Permanent: true, NoEffect: true,
				Suggestion: fmt.Sprintf("add to the mock file: %s: {output: …}", node.ID)}
		case mock.Error != "":
			return engine.Result{}, &planner.Failure{Code: "mock", Message: mock.Error, Permanent: true, NoEffect: true}
		}
		return engine.Result{Output: mock.Output}, nil
	}), true
}

func (c *App) mocked(ctx context.Context, table map[string]mock) (*local, error) {
	cfg, tools, registry, err := c.offers(ctx)
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	s, err := store.OpenMemory(ctx, store.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Config{Store: s, Registry: mockRegistry{registry, table}, Logger: log, Options: engine.Options{StopGrace: time.Second}})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.OnCommit(e.HandleCommit)
	if err := e.Open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	a := app.New(app.Config{Store: s, Engine: e, Log: log})
	return &local{e, stored{s}, offered{tools}, bulk.New(bulk.Config{Store: s, Engine: e, Log: log, Providers: tools.Models.ProviderInfos, Tools: tools.Tools, Host: tools.Host}), draft.New(draft.Config{Store: s, Planner: assemble.NewAsker(e, registry, tools, s, cfg), Engine: e, Archive: a.Plans.ArchiveAs, Log: log}), nil, a}, nil
}
