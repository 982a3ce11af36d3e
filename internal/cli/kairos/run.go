package kairos

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
)

func (c startCommands) runCommand() *cobra.Command {
	var plan string
	var start startFlags
	cmd := &cobra.Command{
		Use:   "run FILE|PLAN[@VERSION] [--prompt TEXT | --input JSON|@FILE]",
		Short: "Run a plan and print its result",
		Long: `Stores the plan and a run of it, executes the run, and prints its output; for a
step plan, the answer that its steps add up to.
Progress goes to stderr, the result to stdout. The run is stored before its first
node starts: when this command is interrupted, "kairos resume" continues it.

FILE contains a slash, ends in .yaml, .yml, or .json, or is - for stdin. Anything
else is the key of a stored plan, with @VERSION one of its versions. --plan FILE
names the plan, too.

With --dry-run, steps that compute or only read run, so an HTTP GET is sent. A step
that might change something or calls a model completes with a made-up output, and
its row names the call. --offline is a dry run that sends nothing: steps that read
get a made-up output, too.
"kairos try" does so without storing the plan; "kairos start" runs a stored plan.

--prompt gives the input as text; --input gives it as JSON, or with @FILE from a
file (@- reads stdin). --memory keeps nothing on disk. With --json, stdout is
exactly one object: runId, status, waitReason, output, outputs, path,
error, usage, failedSteps.`,
		Example: "  kairos run hello.yaml --prompt \"good morning\"\n  kairos run report.yaml --input @orders.json --json\n" +
			"  kairos run report@3 --input @orders.json\n  kairos run check.yaml --memory",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && plan != "":
				return exit.Usage("name the plan once: %s, or --plan %s", args[0], plan)
			case len(args) == 1:
				plan = args[0]
			case plan == "":
				return exit.Usage("missing argument FILE or PLAN\n  usage: kairos run hello.yaml")
			}
			req, err := start.request(c.program, cmd)
			if err != nil {
				return err
			}
			var src []byte
			var format planner.Format
			if _, _, stored := storedName(plan); !stored || cmd.Flags().Changed("plan") && datadir.Exists(plan) {
				if src, format, err = c.readPlan(plan); err != nil {
					return err
				}
			}
			return c.run(cmd.Context(), plan, src, format, req, start.detach)
		},
	}
	f := cmd.Flags()
	f.StringVar(&plan, "plan", "", "plan file (YAML or JSON, - reads stdin), or a stored plan")
	f.BoolVar(&c.memory, "memory", false, "store nothing on disk")
	start.add(cmd)
	return cmd
}

// run stores plan and run, follows it, and prints what became of it.
func (c startCommands) run(ctx context.Context, file string, src []byte, format planner.Format, req domain.StartRequest, detach bool) error {
	b, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close(b)
	if err := canDetach(b, detach); err != nil {
		return err
	}
	if src != nil {
		_, v, _, problems, err := b.SavePlan(ctx, src, format, "cli", "")
		if err != nil {
			return c.invalid(file, problems, err)
		}
		c.warnings(file, problems)
		req.Hash, req.Plan = v.Hash, v.PlanID
	} else if req.Plan, req.Version, err = c.stored(ctx, b, file); err != nil {
		return err
	}
	return c.start(ctx, b, req, detach)
}

// stored finds a plan that was named instead of a file.
func (c startCommands) stored(ctx context.Context, b *client.Client, name string) (plan string, version int, err error) {
	key, version, _ := storedName(name)
	p, err := b.Plan(ctx, key)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "", 0, exit.Usage("plan %s not found\n  list stored plans: kairos plans; to run a file, name it with its ending: kairos run %s.yaml", key, key)
	}
	return p.ID, version, err
}

// startFlags are what a new run may be asked for, whoever gives the plan.
type startFlags struct {
	prompt, input, session, key, startAt string
	labels                               []string
	priority                             int
	limits                               domain.Limits
	group                                domain.Concurrency
	dry, offline, detach                 bool
}

func (s *startFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.prompt, "prompt", "", "the input as text")
	f.StringVar(&s.input, "input", "", "the input as JSON, or @FILE")
	f.StringVar(&s.session, "session", "", "session for memory (default: the run's id)")
	f.StringArrayVar(&s.labels, "label", nil, "label key=value; may be repeated")
	f.BoolVar(&s.dry, "dry-run", false, "run only steps that compute or read, such as an HTTP GET; show the others")
	f.BoolVar(&s.offline, "offline", false, "a dry run that sends nothing: steps that read are only shown, too")
	f.StringVar(&s.key, "key", "", "one run per key: a second start with it gives the first one's run")
	f.StringVar(&s.startAt, "start-at", "", "not before this time: 06:00, 2h, or 2030-01-31T06:00")
	f.IntVar(&s.priority, "priority", 0, "higher runs first")
	f.StringVar(&s.group.Key, "concurrency-key", "", "runs with this key share --concurrency-limit")
	f.IntVar(&s.group.Limit, "concurrency-limit", 1, "with --concurrency-key: at most so many at once")
	f.StringVar(&s.group.OnConflict, "on-conflict", "queue", "with --concurrency-key: queue, skip or cancel_oldest")
	addLimits(cmd, &s.limits)
	f.BoolVar(&s.detach, "detach", false, "print the run's id and do not wait for it (with a daemon)")
	cmd.MarkFlagsMutuallyExclusive("prompt", "input")
}

// addLimits adds the flags of a run's limits.
func addLimits(cmd *cobra.Command, l *domain.Limits) {
	f := cmd.Flags()
	f.Int64Var(&l.MaxSteps, "max-steps", 0, "the run waits for a person before it takes more steps")
	f.DurationVar(&l.MaxDuration, "max-duration", 0, "… before it runs longer, such as 10m")
	f.Int64Var(&l.MaxTokens, "max-tokens", 0, "… before its models use more tokens")
	f.Float64Var(&l.MaxCost, "max-cost", 0, "… before they cost more")
}

// request turns the flags into what is asked of the engine.
func (s *startFlags) request(c *program, cmd *cobra.Command) (r domain.StartRequest, err error) {
	r = domain.StartRequest{Session: s.session, Key: s.key, Priority: s.priority, Limits: s.limits, Dry: s.dry, Offline: s.offline, Origin: "cli"}
	if r.Input, err = c.input(cmd, s.prompt, s.input); err != nil {
		return r, err
	}
	if r.Labels, err = parseLabels(s.labels); err != nil {
		return r, err
	}
	if s.limits.MaxSteps < 0 || s.limits.MaxDuration < 0 || s.limits.MaxTokens < 0 || s.limits.MaxCost < 0 {
		return r, exit.Usage("limits must not be negative")
	}
	if s.startAt != "" {
		if r.StartAt, err = moment("--start-at", s.startAt, time.Now()); err != nil {
			return r, err
		}
	}
	if s.group.Key != "" {
		r.Concurrency = &s.group
	}
	return r, nil
}

// startCommand starts a run of a plan that is stored already.
func (c startCommands) startCommand() *cobra.Command {
	var s startFlags
	version := 0
	cmd := &cobra.Command{
		Use: "start PLAN", Short: "Start a run of a stored plan", Args: cobra.ExactArgs(1),
		Long: `Starts a run of a plan that is stored, by its key or id, and prints its output; "run"
is for plans in files. Without --version it is the current version. With a daemon,
--detach starts the run and leaves it to the daemon.`,
		Example: "  kairos start report --prompt \"march\"\n  kairos start report --version 3 --input @orders.json --label env=prod\n" +
			"  kairos start report --key march-2030 --start-at 06:00 --detach",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := s.request(c.program, cmd)
			if err != nil {
				return err
			}
			req.Plan, req.Version = args[0], version
			return c.with(cmd, func(b *client.Client) error {
				return listedBy(c.start(cmd.Context(), b, req, s.detach), "kairos plans lists plans; kairos run FILE runs one of a file")
			})
		},
	}
	s.add(cmd)
	cmd.Flags().IntVar(&version, "version", 0, "version number (default: the current one)")
	return cmd
}

// tryCommand runs a file without storing it.
func (c startCommands) tryCommand() *cobra.Command {
	var prompt, input string
	cmd := &cobra.Command{
		Use: "try FILE", Short: "Run a plan dry, without storing a version of it", Args: cobra.ExactArgs(1),
		Long: `Walks a plan while it is being written. Steps that compute or only read run, so an
HTTP GET is sent. Steps that might change something or ask a model do not run, and
show what would have been called. The plan gets no version; the run is kept, out of lists, like other dry runs.
"kairos test" runs a plan with results of your own in the place of effects.`,
		Example: "  kairos try report.yaml --prompt \"march\"\n  kairos try report.yaml --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := c.input(cmd, prompt, input)
			if err != nil {
				return err
			}
			src, format, err := c.readPlan(args[0])
			if err != nil {
				return err
			}
			return c.with(cmd, func(b *client.Client) error {
				r, problems, err := b.TryPlan(cmd.Context(), src, format, value)
				if err != nil {
					return c.invalid(args[0], problems, err)
				}
				c.warnings(args[0], problems)
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	cmd.Flags().StringVar(&prompt, "prompt", "", "the input as text")
	cmd.Flags().StringVar(&input, "input", "", "the input as JSON, or @FILE")
	cmd.Flags().BoolVar(&c.memory, "memory", false, "store nothing on disk")
	cmd.MarkFlagsMutuallyExclusive("prompt", "input")
	return cmd
}

func (c startCommands) testCommand() *cobra.Command {
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
func (c startCommands) mocked(ctx context.Context, table map[string]assemble.Mock) (*client.Client, error) {
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
