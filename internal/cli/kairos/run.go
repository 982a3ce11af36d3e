package kairos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func (c *program) runCommand() *cobra.Command {
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
			req, err := start.request(c, cmd)
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

// input turns the flags into the run's input.
func (c *program) input(cmd *cobra.Command, prompt, input string) (domain.RawJSON, error) {
	if cmd.Flags().Changed("prompt") {
		b, err := json.Marshal(prompt)
		return b, err
	}
	if !cmd.Flags().Changed("input") {
		return nil, nil
	}
	return c.jsonArgument("--input", input)
}

// jsonArgument reads a JSON value, or with @FILE one from a file.
func (c *program) jsonArgument(name, text string) (domain.RawJSON, error) {
	b, what, advice := []byte(text), name, "\n  put text in quotes: "+name+" '\"text\"'"
	if path, ok := strings.CutPrefix(text, "@"); ok {
		what, advice = name+" "+text, ""
		var err error
		if path == "-" {
			b, err = io.ReadAll(c.In)
		} else {
			b, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, exit.Usage("%s: %w", name, err)
		}
	}
	v, err := jsonvalue.Decode(b)
	if err != nil {
		return nil, exit.Usage("%s is not JSON: %s%s", what, err, advice)
	}
	return jsonvalue.Encode(v)
}

func parseLabels(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, l := range list {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, exit.Usage("label %q is not key=value", l)
		}
		m[k] = v
	}
	return m, nil
}

// readPlan reads a plan file; - is stdin.
func (c *program) readPlan(path string) ([]byte, planner.Format, error) {
	in := c.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, "", exit.Usage("cannot read the plan: %w", err)
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, planner.MaxDocument+1))
	switch {
	case err != nil:
		return nil, "", exit.Usage("cannot read the plan: %w", err)
	case len(src) > planner.MaxDocument:
		return nil, "", exit.Usage("%s is no plan: it is larger than %d bytes\n  split the plan, or move data into its input", path, planner.MaxDocument)
	}
	return src, planner.FormatOf(path, src), nil
}

// run stores plan and run, follows it, and prints what became of it.
func (c *program) run(ctx context.Context, file string, src []byte, format planner.Format, req domain.StartRequest, detach bool) error {
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

// storedName parses KEY or KEY@VERSION of a stored plan. ok is false for the name
// of a file: it contains a slash, ends in .yaml, .yml, or .json, or is "-".
func storedName(name string) (key string, version int, ok bool) {
	key, number, versioned := strings.Cut(name, "@")
	if versioned {
		n, err := strconv.Atoi(strings.TrimPrefix(number, "v"))
		if err != nil || n < 1 {
			return "", 0, false
		}
		version = n
	}
	file := key == "" || key == "-" || strings.ContainsAny(key, "/\\") || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(key))
	return key, version, !file
}

// stored finds a plan that was named instead of a file.
func (c *program) stored(ctx context.Context, b *client.Client, name string) (plan string, version int, err error) {
	key, version, _ := storedName(name)
	p, err := b.Plan(ctx, key)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return "", 0, exit.Usage("plan %s not found\n  list stored plans: kairos plans; to run a file, name it with its ending: kairos run %s.yaml", key, key)
	}
	return p.ID, version, err
}

// follow shows a run's progress until it stands still, then its result.
func (c *program) follow(ctx context.Context, b *client.Client, r domain.Run) error {
	c.notef("run %s of %s v%d\n", r.ID, r.PlanKey, r.Version)
	if !c.quiet && !c.json {
		c.mentionDelay(ctx, b, r)
	}
	view, err := b.Follow(ctx, r.ID, func(e domain.Event) {
		if e.RunSeq == 0 || e.RunSeq > c.told {
			c.progress(e)
		}
	})
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return interrupted(b, r.ID)
		}
		return err
	}
	return c.result(view.Result)
}

// interrupted is what whoever stops waiting is told: a run that this process
// executes stands still, one of a daemon goes on.
func interrupted(b *client.Client, run string) error {
	short := domain.ShortID(run)
	if b.InProcess() {
		return exit.With(exit.Unavailable, fmt.Errorf("interrupted; continue with: kairos resume %s", short))
	}
	return exit.With(exit.Unavailable, fmt.Errorf("interrupted; the run goes on in the daemon: kairos logs %s -f", short))
}

// mentionDelay prints why a run does not start now: it is scheduled, or the daemon
// executes nothing.
func (c *program) mentionDelay(ctx context.Context, b *client.Client, r domain.Run) {
	if r.StartAt.After(time.Now()) && r.StartedAt.IsZero() {
		c.notef("note: the run starts at %s; kairos start-now %s starts it now\n", cli.Stamp(r.StartAt), domain.ShortID(r.ID))
	}
	if b.InProcess() {
		return
	}
	i, err := b.Installation(ctx)
	if err != nil {
		return // the command itself meets the error
	}
	if i.Safe != "" {
		c.notef("note: the daemon is in safe mode (%s) and executes nothing; restart it without safe mode\n", i.Safe)
	}
	if i.Maintenance != nil {
		c.notef("note: the daemon is in maintenance since %s; the run starts when it ends: kairos system maintenance off\n", cli.Stamp(i.Maintenance.Since))
	}
}

// progress prints one event as a line on stderr.
func (c *program) progress(e domain.Event) {
	if c.quiet || c.json {
		return
	}
	data := e.Data
	text := func(key string) string {
		if s, ok := data[key].(string); ok {
			return s
		}
		return ""
	}
	node := text("node")
	if item, ok := data["item"].(float64); ok {
		node += fmt.Sprintf("[%d]", int(item))
	}
	message := ""
	if e, ok := data["error"].(map[string]any); ok {
		message, _ = e["message"].(string)
	}
	switch e.Type {
	case "node_completed":
		c.notef("  ok       %s\n", node)
	case "node_failed":
		c.notef("  failed   %s: %s\n", node, message)
	case "node_retrying":
		c.notef("  retrying %s: %s\n", node, message)
	case "node_skipped":
		why := ""
		for _, more := range []string{text("reason"), text("detail")} {
			if more != "" {
				why += ": " + cli.FirstLine(more)
			}
		}
		c.notef("  skipped  %s%s\n", node, why)
	case "node_waiting":
		c.notef("  waiting  %s %s\n", node, text("reason"))
	}
}

// result prints what became of a run and gives the exit code for it.
func (c *program) result(res domain.Result) error {
	if c.json {
		if err := c.Print(res); err != nil {
			return err
		}
		return exitOf(res)
	}
	run, short := res.RunID, domain.ShortID(res.RunID)
	switch res.Status {
	case domain.RunCompleted:
		if res.Result != nil {
			c.Printf("%s\n", res.Result.AggregatedResult)
		} else {
			c.Printf("%s\n", text(res.Output))
		}
		c.failedSteps(run, res.FailedSteps)
	case domain.RunWaiting:
		c.Errorf("run %s waits: %s\n", run, res.WaitReason)
		for _, w := range res.Waits {
			switch {
			case w.Approval != "":
				c.Errorf("  %s asks: %s\n    kairos approve %s\n    kairos reject %s --comment WHY\n", w.Node, w.Message, w.Approval, w.Approval)
			case w.Reason == domain.WaitInDoubt:
				if len(w.Calls) == 0 {
					c.Errorf("  %s may or may not have happened\n", w.Node)
				}
				for _, call := range w.Calls {
					c.Errorf("  %s called %s, which may or may not have happened: %s\n", w.Node, call.Tool, text(call.Arguments))
				}
				c.Errorf("    kairos resolve %s %s --happened OUTPUT | --retry | --skip | --fail\n", short, w.Node)
			case w.Reason == domain.WaitQuarantined && w.Message != "": // its journal is damaged
				c.Errorf("  %s\n    kairos show %s\n", w.Message, short)
			case w.Reason == domain.WaitBudget:
				c.Errorf("  %s\n    kairos limits %s --max-tokens +N | --max-cost +N | --max-duration +TIME | --max-steps +N\n", w.Message, short)
			case w.Reason == domain.WaitHeld, w.Reason == domain.WaitQuarantined:
				c.Errorf("  %s\n    kairos release %s\n", parked[w.Reason], short)
			default:
				c.Errorf("  %s %s %s\n", w.Reason, w.Node, w.Message)
			}
		}
	case domain.RunFailed:
		if res.Error != nil {
			next := "resume " + short
			if res.Error.Code == walk.CodeCondition { // running again decides the same
				next = "fork " + short + " --edit STEP=JSON"
			}
			c.Errorf("run %s failed at %s: %s (%s)\n  kairos %s\n", run, res.Error.Node, res.Error.Message, res.Error.Code, next)
		}
	default:
		c.Errorf("run %s is %s\n", run, res.Status)
	}
	return exitOf(res)
}

// failedSteps names the steps that failed in a run that completed all the same.
func (c *program) failedSteps(run string, failed []domain.RunError) {
	if len(failed) == 0 {
		return
	}
	steps := "1 step"
	if len(failed) > 1 {
		steps = fmt.Sprintf("%d steps", len(failed))
	}
	c.Errorf("run %s completed, %s failed\n", run, steps)
	for _, f := range failed {
		c.Errorf("  %s: %s (%s)\n", f.Node, f.Message, f.Code)
	}
}

// parked says why a run was put aside.
var parked = map[domain.WaitReason]string{
	domain.WaitHeld:        "the database was restored or taken back; nothing is executed until it is released",
	domain.WaitQuarantined: "kairosd died repeatedly while this run worked",
}

// exitOf is the exit code that a run's state stands for.
func exitOf(r domain.Result) error {
	switch {
	case r.Status == domain.RunFailed || r.Status == domain.RunCancelled:
		return &exit.Status{Code: exit.Failed}
	case r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson():
		return &exit.Status{Code: exit.Waits}
	}
	return nil
}

// text is a JSON value as a person reads it: a string without quotes.
func text(j domain.RawJSON) string {
	v, err := jsonvalue.Decode(j)
	if err != nil {
		return string(j)
	}
	return jsonvalue.Text(v)
}
