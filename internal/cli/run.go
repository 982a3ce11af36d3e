package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

func (c *app) runCommand() *cobra.Command {
	var plan string
	var start startFlags
	cmd := &cobra.Command{
		Use:   "run --plan FILE|KEY[@VERSION] [--prompt TEXT | --input JSON|@FILE]",
		Short: "Run a plan and print its result",
		Long: `Stores the plan and a run of it, executes the run, and prints its output.
Progress goes to stderr, the result to stdout. The run is stored before its first
node starts: when this command is interrupted, "kairos resume" continues it.
Where there is no such file, KEY is a plan that is stored already.

--dry-run leaves undone whatever might change something or ask a model: such
steps complete with a made-up output, and their rows say what would have been called.
"kairos try" does so without storing the plan; "kairos start" runs a stored plan.

--prompt gives the input as text; --input gives it as JSON, or with @FILE from a
file (@- reads stdin). --memory keeps nothing on disk. With --json, stdout is
exactly one object: runId, status, waitReason, output, outputs, path, error, usage.`,
		Example: "  kairos run --plan hello.yaml --prompt \"good morning\"\n  kairos run --plan report.yaml --input @orders.json --json\n" +
			"  kairos run --plan check.yaml --memory",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if plan == "" {
				return usage("run needs --plan FILE")
			}
			req, err := start.request(c, cmd)
			if err != nil {
				return err
			}
			src, format, err := c.readPlan(plan)
			if _, _, stored := storedName(plan); stored && errors.Is(err, fs.ErrNotExist) {
				src, err = nil, nil
			}
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), plan, src, format, req, start.detach)
		},
	}
	f := cmd.Flags()
	f.StringVar(&plan, "plan", "", "plan file, YAML or JSON (- reads stdin); or the key of a stored plan, with @VERSION one of its versions")
	f.BoolVar(&c.memory, "memory", false, "store nothing on disk")
	start.add(cmd)
	return cmd
}

// input turns the flags into the run's input.
func (c *app) input(cmd *cobra.Command, prompt, input string) (kairos.RawJSON, error) {
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
func (c *app) jsonArgument(name, text string) (kairos.RawJSON, error) {
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
			return nil, usage("%s: %w", name, err)
		}
	}
	v, err := planner.DecodeValue(b)
	if err != nil {
		return nil, usage("%s is not JSON: %s%s", what, err, advice)
	}
	return planner.EncodeValue(v)
}

func parseLabels(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, l := range list {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, usage("label %q is not key=value", l)
		}
		m[k] = v
	}
	return m, nil
}

// readPlan reads a plan file; - is stdin.
func (c *app) readPlan(path string) ([]byte, planner.Format, error) {
	in := c.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, "", usage("cannot read the plan: %w", err)
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, planner.MaxDocument+1))
	switch {
	case err != nil:
		return nil, "", usage("cannot read the plan: %w", err)
	case len(src) > planner.MaxDocument:
		return nil, "", usage("%s is no plan: it is larger than %d bytes\n  split the plan, or move data into its input", path, planner.MaxDocument)
	}
	return src, planner.FormatOf(path, src), nil
}

// run stores plan and run, follows it, and prints what became of it.
func (c *app) run(ctx context.Context, file string, src []byte, format planner.Format, req kairos.StartRequest, detach bool) error {
	b, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer c.close(b)
	if src != nil {
		_, v, _, problems, err := b.SavePlan(ctx, c.actor(), src, format, "cli", "")
		if err != nil {
			return c.invalid(file, problems, err)
		}
		c.warnings(file, problems)
		req.Hash, req.Plan = v.Hash, v.PlanID
	} else if req.Plan, req.Version, err = c.stored(ctx, b, file); err != nil {
		return err
	}
	r, err := b.Start(ctx, c.actor(), req)
	if err != nil {
		return err
	}
	return c.started(ctx, b, r, detach)
}

// storedName reads KEY or KEY@VERSION; false: it is the name of a file.
func storedName(name string) (key string, version int, ok bool) {
	key, number, versioned := strings.Cut(name, "@")
	if versioned {
		n, err := strconv.Atoi(strings.TrimPrefix(number, "v"))
		if err != nil || n < 1 {
			return "", 0, false
		}
		version = n
	}
	return key, version, key != "" && !strings.ContainsAny(key, "./\\")
}

// stored finds a plan that was named instead of a file.
func (c *app) stored(ctx context.Context, b backend, name string) (plan string, version int, err error) {
	key, version, _ := storedName(name)
	p, err := b.Plan(ctx, key)
	if kairos.CodeOf(err) == kairos.CodeNotFound {
		return "", 0, usage("cannot read the plan: there is no file %s, and no stored plan %s", name, key)
	}
	return p.ID, version, err
}

// follow shows a run's progress until it stands still, then its result.
func (c *app) follow(ctx context.Context, b backend, r kairos.Run) error {
	if !c.json {
		c.errorf("run %s of %s v%d\n", r.ID, r.PlanKey, r.Version)
		c.mentionSafeMode(ctx, b)
	}
	events, err := b.Subscribe(ctx, 0, r.ID)
	if err != nil {
		return err
	}
	settled := make(chan kairos.Run, 1)
	failed := make(chan error, 1)
	go func() {
		run, err := b.Wait(ctx, r.ID)
		if err != nil {
			failed <- err
			return
		}
		settled <- run
	}()
	if err := c.watch(events, settled, failed); err != nil {
		if errors.Is(err, context.Canceled) {
			return interrupted(b, r.ID)
		}
		return err
	}
	return c.result(context.WithoutCancel(ctx), b, r.ID)
}

// interrupted is what whoever stops waiting is told: a run that this process
// executes stands still, one of a daemon goes on.
func interrupted(b backend, run string) error {
	short := kairos.ShortID(run)
	if _, here := b.(*local); here {
		return &exit{exitUnavailable, fmt.Errorf("interrupted; continue with: kairos resume %s", short)}
	}
	return &exit{exitUnavailable, fmt.Errorf("interrupted; the run goes on in the daemon: kairos logs %s -f", short)}
}

// mentionSafeMode says that a daemon executes nothing: whoever waits for a run
// would wait for ever.
func (c *app) mentionSafeMode(ctx context.Context, b backend) {
	d, ok := b.(keeper)
	if !ok {
		return
	}
	if i, err := d.Installation(ctx); err == nil && i.Safe != "" {
		c.errorf("note: the daemon is in safe mode (%s): it executes nothing until it is started without\n", i.Safe)
	}
}

// lateEvents is how long a run that stands still may take to tell of its last
// steps.
const lateEvents = 2 * time.Second

// watch prints events until the run has settled and everything up to its last
// row was told.
func (c *app) watch(events <-chan kairos.Event, settled <-chan kairos.Run, failed <-chan error) error {
	last := int64(-1)
	seen := int64(0)
	var late <-chan time.Time
	for last < 0 || seen < last {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if e.RunSeq == 0 || e.RunSeq > c.told {
				c.progress(e)
			}
			seen = max(seen, e.RunSeq)
		case run := <-settled:
			last, late = run.LastSeq, time.After(lateEvents)
		case err := <-failed:
			return err
		case <-late:
			return nil
		}
	}
	return nil
}

// progress prints one event as a line on stderr.
func (c *app) progress(e kairos.Event) {
	if c.json {
		return
	}
	data, _ := e.Data.(map[string]any)
	if data == nil {
		if b, err := json.Marshal(e.Data); err == nil {
			_ = json.Unmarshal(b, &data) // best effort: an event without fields prints its type
		}
	}
	text := func(key string) string {
		if s, ok := data[key].(string); ok {
			return s
		}
		return ""
	}
	node := text("node")
	if item, ok := data["item"].(float64); ok {
		node += fmt.Sprintf("[%d]", int(item))
	} else if item, ok := data["item"].(int); ok {
		node += fmt.Sprintf("[%d]", item)
	}
	message := ""
	if e, ok := data["error"].(map[string]any); ok {
		message, _ = e["message"].(string)
	}
	switch e.Type {
	case "node_completed":
		c.errorf("  ok       %s\n", node)
	case "node_failed":
		c.errorf("  failed   %s: %s\n", node, message)
	case "node_retrying":
		c.errorf("  retrying %s: %s\n", node, message)
	case "node_skipped":
		c.errorf("  skipped  %s\n", node)
	case "node_waiting":
		c.errorf("  waiting  %s %s\n", node, text("reason"))
	}
}

// result prints what became of a run and gives the exit code for it.
func (c *app) result(ctx context.Context, b backend, run string) error {
	res, err := b.Result(ctx, run)
	if err != nil {
		return err
	}
	if c.json {
		if err := c.print(res); err != nil {
			return err
		}
		return exitOf(res)
	}
	short := kairos.ShortID(run)
	switch res.Status {
	case kairos.RunCompleted:
		if c.aggregated && res.Result != nil {
			c.printf("%s\n", res.Result.AggregatedResult)
			break
		}
		c.printf("%s\n", text(res.Output))
	case kairos.RunWaiting:
		c.errorf("run %s waits: %s\n", run, res.WaitReason)
		for _, w := range res.Waits {
			switch {
			case w.Approval != "":
				c.errorf("  %s asks: %s\n    kairos approve %s\n    kairos reject %s --comment WHY\n", w.Node, w.Message, w.Approval, w.Approval)
			case w.Reason == kairos.WaitInDoubt:
				c.errorf("  %s may or may not have happened\n    kairos resolve %s %s --happened OUTPUT | --retry | --skip | --fail\n", w.Node, short, w.Node)
			case w.Reason == kairos.WaitQuarantined && w.Message != "": // its journal is damaged
				c.errorf("  %s\n    kairos show %s\n", w.Message, short)
			case w.Reason == kairos.WaitHeld, w.Reason == kairos.WaitQuarantined:
				c.errorf("  %s\n    kairos release %s\n", parked[w.Reason], short)
			default:
				c.errorf("  %s %s %s\n", w.Reason, w.Node, w.Message)
			}
		}
	case kairos.RunFailed:
		if res.Error != nil {
			c.errorf("run %s failed at %s: %s (%s)\n  kairos resume %s\n", run, res.Error.Node, res.Error.Message, res.Error.Code, short)
		}
	default:
		c.errorf("run %s is %s\n", run, res.Status)
	}
	return exitOf(res)
}

// parked says why a run was put aside.
var parked = map[kairos.WaitReason]string{
	kairos.WaitHeld:        "the database was restored or taken back; nothing is executed until it is released",
	kairos.WaitQuarantined: "kairosd died repeatedly while this run worked",
}

// exitOf is the exit code that a run's state stands for.
func exitOf(r kairos.Result) error {
	switch {
	case r.Status == kairos.RunFailed || r.Status == kairos.RunCancelled:
		return &exit{code: exitFailed}
	case r.Status == kairos.RunWaiting && r.WaitReason.NeedsPerson():
		return &exit{code: exitWaits}
	}
	return nil
}

// text is a JSON value as a person reads it: a string without quotes.
func text(j kairos.RawJSON) string {
	v, err := planner.DecodeValue(j)
	if err != nil {
		return string(j)
	}
	return planner.Text(v)
}
