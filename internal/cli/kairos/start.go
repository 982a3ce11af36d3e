package kairos

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

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

// moment reads a time that is to come: a time of day (the next there is), a
// duration from now, or a date and time; without a zone, the machine's.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(d), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if !at.After(now) {
				at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			}
			return at, nil
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Usage("%s %q is no time\n  write 06:00, 2h, 2030-01-31T06:00 or 2030-01-31T06:00:00Z", flag, text)
}

// startCommand starts a run of a plan that is stored already.
func (c *program) startCommand() *cobra.Command {
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
			req, err := s.request(c, cmd)
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

// canDetach returns an error if nothing would execute a run after this command
// has ended.
func canDetach(b *client.Client, detach bool) error {
	if b.InProcess() && detach {
		return exit.Usage("--detach needs a running daemon, and none has this database open\n  start one with kairosd serve, or run the command without --detach")
	}
	return nil
}

// start starts a run and follows it, or with detach prints its id.
func (c *program) start(ctx context.Context, b *client.Client, req domain.StartRequest, detach bool) error {
	if err := canDetach(b, detach); err != nil {
		return err
	}
	r, err := b.Start(ctx, req)
	if err != nil {
		return err
	}
	if !detach {
		return c.follow(ctx, b, r)
	}
	if c.json {
		return c.Print(domain.ViewRun(r))
	}
	c.Printf("%s\n", r.ID)
	return nil
}

// tryCommand runs a file without storing it.
func (c *program) tryCommand() *cobra.Command {
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

// limitsCommand raises what a run may use.
func (c *program) limitsCommand() *cobra.Command {
	req := domain.VerbRequest{Action: domain.ActionLimits}
	detach, asked := false, map[string]*string{}
	cmd := &cobra.Command{
		Use: "limits RUN", Short: "Give a run other limits", Args: cobra.ExactArgs(1),
		Long: `Changes limits of a run: those that are named, the others stay. A number replaces a
limit, a number with a plus sign is added to it. A run that waits for budget continues
where it stopped. A limit below what the run has used is rejected.`,
		Example: "  kairos limits 7qx2 --max-tokens +5000\n  kairos limits 7qx2 --max-tokens 200000 --reason \"the customer agreed\"\n  kairos limits 7qx2 --max-duration 2h --max-cost 5",
		RunE: func(cmd *cobra.Command, args []string) error {
			for flag, text := range asked {
				if err := limitOf(&req, flag, *text); err != nil {
					return err
				}
			}
			if req.Limits == (domain.Limits{}) && req.Raise == (domain.Limits{}) {
				return exit.Usage("say at least one of --max-steps, --max-duration, --max-tokens and --max-cost")
			}
			return c.with(cmd, func(b *client.Client) error {
				if err := canDetach(b, detach); err != nil {
					return err
				}
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				req.Run, c.told = r.ID, r.LastSeq
				if r, err = b.Act(cmd.Context(), req); err != nil {
					return err
				}
				if detach {
					return c.stands(r)
				}
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	for flag, help := range map[string]string{"max-steps": "most steps, or +N more", "max-duration": "longest running time, as 2h, or +30m more",
		"max-tokens": "most tokens of its models, or +N more", "max-cost": "highest cost, or +N more"} {
		asked[flag] = cmd.Flags().String(flag, "", help)
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the audit log")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the run (with a daemon)")
	return cmd
}

// limitOf reads a limit, or what is added to it, from a flag.
func limitOf(req *domain.VerbRequest, flag, text string) error {
	amount, plus := strings.CutPrefix(strings.TrimSpace(text), "+")
	if amount == "" && !plus {
		return nil
	}
	into := &req.Limits
	if plus {
		into = &req.Raise
	}
	var err error
	switch flag {
	case "max-steps":
		into.MaxSteps, err = strconv.ParseInt(amount, 10, 64)
	case "max-duration":
		into.MaxDuration, err = time.ParseDuration(amount)
	case "max-tokens":
		into.MaxTokens, err = strconv.ParseInt(amount, 10, 64)
	case "max-cost":
		into.MaxCost, err = strconv.ParseFloat(amount, 64)
	}
	if err != nil || into.MaxSteps < 0 || into.MaxDuration < 0 || into.MaxTokens < 0 || into.MaxCost < 0 {
		example := "5000 or +5000"
		if flag == "max-duration" {
			example = "90s, 2h, or +30m"
		}
		return exit.Usage("--%s %q is not a limit; write it as %s", flag, text, example)
	}
	return nil
}

// stands says where a run stands that nobody waits for.
func (c *program) stands(r domain.Run) error {
	if c.json {
		return c.Print(domain.ViewRun(r))
	}
	c.Printf("run %s is %s\n", r.ID, strings.TrimSpace(string(r.Status)+" "+string(r.WaitReason)))
	return nil
}
