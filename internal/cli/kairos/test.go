package kairos

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

func (c *program) testCommand() *cobra.Command {
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
			table := map[string]assemble.Mock{}
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
			_, v, _, problems, err := b.SavePlan(cmd.Context(), src, format, "cli", "")
			if err != nil {
				c.problems(args[0], problems)
				return err
			}
			r, err := b.Start(cmd.Context(), domain.StartRequest{Plan: v.PlanID, Hash: v.Hash, Input: value, Origin: "cli"})
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

// mocked gives the API of a throw-away database whose nodes give mocks.
func (c *program) mocked(ctx context.Context, table map[string]assemble.Mock) (*client.Client, error) {
	cfg, err := config.Load(c.config)
	if err != nil {
		return nil, err
	}
	l, err := assemble.OpenLocal(ctx, assemble.LocalOptions{Config: cfg, Mocks: table})
	if err != nil {
		return nil, err
	}
	return client.InProcess(l.Handler, l.Close), nil
}
