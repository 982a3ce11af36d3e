package kairos

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
)

// document is a plan: a file that was read, or a stored plan.
type document struct {
	name   string
	source []byte // nil for a stored plan
	format planner.Format
	files  command.PlanFiles // a file with those that it names, if there are any
}

// read reads a plan file and the files that it names. Afterwards, source names plans instead of files.
func (c startCommands) read(doc *document) error {
	files, problems, err := c.ReadPlanFiles(doc.name)
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return c.invalid(doc.name, problems, err)
	}
	doc.source, doc.format = files.Root().Linked, files.Root().Format
	if files.Several() {
		doc.files = files
	}
	return nil
}

func (c startCommands) runCommand() *cobra.Command {
	var plan, mocks string
	var start startFlags
	cmd := &cobra.Command{
		Use:   "run FILE|PLAN[@VERSION] [--prompt TEXT | --input JSON|@FILE]",
		Short: "Run a plan and wait for its result",
		Long: `Stores a plan and a run of it, executes the run, and prints its output. Progress goes
to stderr, the result to stdout. kairos stores the run before its first step starts. If
the command is interrupted, "kairos resume" continues the run.

FILE contains a slash, ends in .yaml, .yml, or .json, or is - for stdin. Anything
else is the key of a stored plan, with @VERSION one of its versions. --plan FILE
is another way to name the file.

--prompt is the input as text. --input is the input as JSON, or @FILE (@- reads stdin).
--memory stores nothing on disk. --detach prints the id of the run and leaves the run to
the server. --start-at schedules the run.

--dry-run runs only steps that compute or read, so an HTTP GET is sent. Other steps
complete with a placeholder output, and the journal shows their calls. A dry run of a file
stores no version of the plan. --offline is a dry run that sends nothing.

--mock FILE tests a plan in a temporary database. The file maps each step that is not
pure to {output: …} or {error: …}. A step without an entry fails. Nothing is sent.

With --json, stdout is exactly one object: runId, status, waitReason, output, outputs,
path, error, usage, failedSteps.`,
		Example: "  kairos run hello.yaml --prompt \"good morning\"\n  kairos run report.yaml --input @orders.json --json\n" +
			"  kairos run report@3 --input @orders.json --label env=prod\n  kairos run report --profile prod\n" +
			"  kairos run report.yaml --dry-run\n  kairos run report.yaml --mock report.mock.yaml\n" +
			"  kairos run report --key march-2030 --start-at 06:00 --detach",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && plan != "":
				return exit.Usage("use either the argument %s or --plan %s, not both", args[0], plan)
			case len(args) == 1:
				plan = args[0]
			case plan == "":
				return exit.Usage("missing argument FILE or PLAN\n  usage: kairos run FILE|PLAN[@VERSION]")
			}
			req, err := start.request(c.program, cmd)
			if err != nil {
				return err
			}
			doc := document{name: plan}
			if command.IsFile(plan) || cmd.Flags().Changed("plan") && datadir.Exists(plan) {
				if err = c.read(&doc); err != nil {
					return err
				}
			}
			if mocks != "" {
				return c.runMocked(cmd.Context(), doc, mocks, req)
			}
			return c.runConnected(cmd, doc, req, start.detach)
		},
	}
	f := cmd.Flags()
	f.StringVar(&plan, "plan", "", "plan file (YAML or JSON, - reads stdin), or a stored plan")
	f.StringVar(&mocks, "mock", "", "file with the results of steps: STEP: {output: …} or {error: …}")
	f.BoolVar(&c.Memory, "memory", false, "store nothing on disk")
	start.add(cmd)
	for _, flag := range []string{"detach", "dry-run", "offline", "start-at"} {
		cmd.MarkFlagsMutuallyExclusive("mock", flag)
	}
	return cmd
}

// runConnected runs a plan in the database or on the server that the flags select.
func (c startCommands) runConnected(cmd *cobra.Command, doc document, req domain.StartRequest, detach bool) error {
	b, err := c.Connect(cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close(b)
	if err := canDetach(b, detach); err != nil {
		return err
	}
	if doc.source != nil && (req.Dry || req.Offline) {
		return c.dryRun(cmd, b, doc, req, detach)
	}
	return c.run(cmd.Context(), b, doc, req, detach)
}

// run stores a document unless it is stored, starts a run of it, and follows the run.
func (c startCommands) run(ctx context.Context, b *client.Client, doc document, req domain.StartRequest, detach bool) (err error) {
	if doc.source == nil {
		if req.Plan, req.Version, err = c.stored(ctx, b, doc.name); err != nil {
			return err
		}
		key, _, _ := strings.Cut(doc.name, "@")
		err = command.ListedBy(c.start(ctx, b, req, detach), "list versions: "+c.Command("plans versions %s", key))
		return adviseInput(err, "the key input of the plan: "+c.Command("plans show %s", key))
	}
	if doc.files.Several() {
		stored, problems, err := b.StorePlanFiles(ctx, doc.files.Request(), "")
		if err != nil {
			return c.invalid(doc.name, doc.files.Located(problems), err)
		}
		for _, s := range stored {
			c.warnings(doc.name, doc.files.Located(s.Problems))
			req.Hash, req.Plan = s.Hash, s.ID
		}
	} else {
		_, v, _, problems, err := b.SavePlan(ctx, doc.source, doc.format, "cli", "")
		if err != nil {
			return c.invalid(doc.name, problems, err)
		}
		c.warnings(doc.name, problems)
		req.Hash, req.Plan = v.Hash, v.PlanID
	}
	return adviseInput(c.start(ctx, b, req, detach), "the key input of "+doc.name)
}

// adviseInput adds the location of the schema to an error about the input.
func adviseInput(err error, schema string) error {
	if e, ok := errors.AsType[*domain.Error](err); ok && strings.HasPrefix(e.Message, "the input does not match") {
		return exit.Advise(err, "pass --input JSON; the schema is "+schema)
	}
	return err
}

// dryRun runs a file without storing a version of its plan.
func (c startCommands) dryRun(cmd *cobra.Command, b *client.Client, doc document, req domain.StartRequest, detach bool) error {
	for _, flag := range []string{"session", "label", "key", "start-at", "priority", "concurrency-key", "max-steps", "max-duration",
		"max-tokens", "max-cost"} {
		if cmd.Flags().Changed(flag) {
			return exit.Usage("--%s requires a stored plan in a dry run\n  store it: kairos plans add %s", flag, doc.name)
		}
	}
	try := func() (domain.Run, planner.Problems, error) { return b.TryPlan(cmd.Context(), doc.source, req) }
	if doc.files.Several() {
		try = func() (domain.Run, planner.Problems, error) {
			return b.TryPlanFiles(cmd.Context(), doc.files.Request(), req)
		}
	}
	r, problems, err := try()
	if err != nil {
		return c.invalid(doc.name, doc.files.Located(problems), err)
	}
	c.warnings(doc.name, problems)
	if detach {
		return c.printID(r)
	}
	return c.follow(cmd.Context(), b, r)
}

// runMocked runs a plan in a temporary database with recorded results instead of calls.
func (c startCommands) runMocked(ctx context.Context, doc document, mocks string, req domain.StartRequest) error {
	text, err := os.ReadFile(mocks)
	if err != nil {
		return exit.Usage("--mock: %w", err)
	}
	table := map[string]assemble.Mock{}
	if err := yaml.Load(text, &table, yaml.WithKnownFields()); err != nil {
		return exit.Usage("--mock %s: %w", mocks, err)
	}
	if doc.source == nil {
		if err := c.readStored(ctx, &doc); err != nil {
			return err
		}
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	l, err := assemble.OpenLocal(ctx, assemble.LocalOptions{Config: cfg, Mocks: table})
	if err != nil {
		return err
	}
	b := client.InProcess(l.Handler, l.Close)
	defer c.Close(b)
	c.mocked = true
	return c.run(ctx, b, doc, req, false)
}

// document reads a plan file or a stored plan.
func (c startCommands) document(ctx context.Context, name string) (doc document, err error) {
	doc.name = name
	if command.IsFile(name) {
		return doc, c.read(&doc)
	}
	return doc, c.readStored(ctx, &doc)
}

// readStored reads the source of a stored plan.
func (c startCommands) readStored(ctx context.Context, doc *document) error {
	b, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(b)
	plan, version, err := c.stored(ctx, b, doc.name)
	if err != nil {
		return err
	}
	if version == 0 {
		p, err := b.Plan(ctx, plan)
		if err != nil {
			return err
		}
		version = p.Latest
	}
	v, err := b.VersionByNumber(ctx, plan, version)
	doc.source, doc.format = v.Source, planner.Format(v.Format)
	return command.ListedBy(err, "list versions: "+c.Command("plans versions %s", plan))
}

// stored returns the stored plan with a name.
func (c startCommands) stored(ctx context.Context, b *client.Client, name string) (plan string, version int, err error) {
	key, version, err := command.StoredName(name)
	if err != nil {
		return "", 0, err
	}
	p, err := b.Plan(ctx, key)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "", 0, exit.Usage("plan %s not found\n  list stored plans: %s\n  run a file: %s", key, c.Command("plans"),
			c.Command("run %s.yaml", key))
	}
	return p.ID, version, err
}

// startFlags are the flags of a new run.
type startFlags struct {
	prompt, input, session, key, startAt string
	profile                              string
	labels                               []string
	priority                             int
	limits                               domain.Limits
	group                                domain.Concurrency
	dry, offline, detach                 bool
}

func (s *startFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.prompt, "prompt", "", "input as text")
	f.StringVar(&s.input, "input", "", "input as JSON, or @FILE")
	f.StringVar(&s.profile, "profile", "", "profile of the plan, such as prod (default: the plan as written)")
	f.StringVar(&s.session, "session", "", "session for memory (default: the id of the run)")
	f.StringArrayVar(&s.labels, "label", nil, "label KEY=VALUE; repeatable")
	f.BoolVar(&s.dry, "dry-run", false, "run only steps that compute or read, such as an HTTP GET")
	f.BoolVar(&s.offline, "offline", false, "a dry run that sends nothing")
	f.StringVar(&s.key, "key", "", "idempotency key: a second start with it returns the first run")
	f.StringVar(&s.startAt, "start-at", "", "start at this time: 06:00, 2h, or 2030-01-31T06:00")
	f.IntVar(&s.priority, "priority", 0, "runs with a higher priority start first")
	f.StringVar(&s.group.Key, "concurrency-key", "", "runs with this key share --concurrency-limit")
	f.IntVar(&s.group.Limit, "concurrency-limit", 1, "with --concurrency-key: maximum number of runs at once")
	f.StringVar(&s.group.OnConflict, "on-conflict", "queue", "with --concurrency-key: queue, skip, or cancel_oldest")
	addLimits(cmd, &s.limits)
	f.BoolVar(&s.detach, "detach", false, "print the id of the run, and do not wait for it (requires a server)")
	cmd.MarkFlagsMutuallyExclusive("prompt", "input")
}

// addLimits adds the flags for the limits of a run.
func addLimits(cmd *cobra.Command, l *domain.Limits) {
	f := cmd.Flags()
	f.Int64Var(&l.MaxSteps, "max-steps", 0, "maximum number of steps; then the run waits for a person")
	f.DurationVar(&l.MaxDuration, "max-duration", 0, "maximum duration, such as 10m; then the run waits")
	f.Int64Var(&l.MaxTokens, "max-tokens", 0, "maximum number of model tokens; then the run waits")
	f.Float64Var(&l.MaxCost, "max-cost", 0, "maximum cost of models; then the run waits")
}

// request returns the request that the flags describe.
func (s *startFlags) request(c *program, cmd *cobra.Command) (r domain.StartRequest, err error) {
	r = domain.StartRequest{Profile: s.profile, Session: s.session, Key: s.key, Priority: s.priority, Limits: s.limits, Dry: s.dry,
		Offline: s.offline, Origin: "cli"}
	if r.Input, err = c.Input(cmd, s.prompt, s.input); err != nil {
		return r, err
	}
	if r.Labels, err = command.ParseLabels(s.labels); err != nil {
		return r, err
	}
	if s.limits.MaxSteps < 0 || s.limits.MaxDuration < 0 || s.limits.MaxTokens < 0 || s.limits.MaxCost < 0 {
		return r, exit.Usage("limits must not be negative")
	}
	if s.startAt != "" {
		if r.StartAt, err = cli.Moment("--start-at", s.startAt, time.Now()); err != nil {
			return r, err
		}
	}
	if s.group.Key != "" {
		r.Concurrency = &s.group
	}
	return r, nil
}
