// Package incoming holds the commands of what starts and wakes runs: schedules, signals, and hooks.
package incoming

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

type scheduleCommands struct{ *command.Program }

// Schedules returns the commands of schedules.
func Schedules(p *command.Program) *cobra.Command {
	c := scheduleCommands{p}
	return command.Group("schedules", "Manage schedules", c.listCommand, c.showCommand(), c.createCommand(), c.updateCommand(),
		c.pauseCommand(true),
		c.pauseCommand(false), c.deleteCommand(), c.nextCommand(), c.decideCommand(), c.backfillCommand())
}

// ScheduleStates are the values of --status.
var ScheduleStates = []string{"active", "paused", "missed"}

func (c scheduleCommands) listCommand() *cobra.Command {
	var l command.ListFlags
	var f domain.ScheduleFilter
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules", Args: cobra.NoArgs,
		Long: `Lists schedules by key, with their next slot and the outcome of the last one. A schedule
starts runs of a plan at the times of a cron expression, the slots. --status missed lists
schedules with missed slots that wait for a decision.`,
		Example: "  kairos schedules\n  kairos schedules --plan report --status paused",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page = l.Page()
			return c.With(cmd, func(b *client.Client) error {
				list, next, err := b.Schedules(cmd.Context(), f)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, s := range list {
					rows = append(rows, []string{s.Key, s.Plan.Key, s.Cron, s.TimeZone, nextSlot(s), lastSlot(s)})
				}
				return c.ListOf(append([]apitypes.Schedule{}, list...), next, []string{"SCHEDULE", "PLAN", "CRON", "ZONE", "NEXT",
					"LAST"}, rows,
					"no schedules found")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&f.Plan, "plan", "", "only schedules of this plan")
	cmd.Flags().StringVar(&f.Text, "filter", "", "part of the key")
	cmd.Flags().StringVar(&f.State, "status", "", "active, paused, or missed")
	return cmd
}

// nextSlot returns the next slot of a schedule, or why there is none.
func nextSlot(s apitypes.Schedule) string {
	switch {
	case s.Paused != nil:
		return "paused"
	case s.PlanStopped:
		return "plan paused"
	}
	return cli.Stamp(s.Next)
}

// lastSlot describes the outcome of the newest slot.
func lastSlot(s apitypes.Schedule) string {
	switch {
	case s.Missed != nil:
		return MissedText(*s.Missed)
	case s.Last == nil:
		return ""
	case s.Last.Run != "":
		return string(s.Last.Status) + " " + domain.ShortID(s.Last.Run)
	}
	return s.Last.State
}

// MissedText describes missed slots: "6 slots missed, 02:10 to 08:00".
func MissedText(m apitypes.MissedSlots) string {
	n := command.Counted(m.Slots, "slot")
	if m.More {
		n = "more than " + n
	}
	return n + " missed, " + cli.Stamp(m.First) + " to " + cli.Stamp(m.Last)
}

func (c scheduleCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show SCHEDULE", Short: "Show a schedule", Args: cobra.ExactArgs(1),
		Long: `Shows a schedule: its settings, the next ten slots, the newest slots with their runs, and
missed slots that wait for a decision.`,
		Example: "  kairos schedules show nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				s, err := b.Schedule(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				slots, err := b.ScheduleSlots(cmd.Context(), s.ID, 10)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(struct {
						apitypes.ScheduleDetail
						Slots []apitypes.Slot `json:"slots"`
					}{s, append([]apitypes.Slot{}, slots...)})
				}
				c.printSchedule(s, slots)
				return nil
			})
		},
	}
}

func (c scheduleCommands) printSchedule(s apitypes.ScheduleDetail, slots []apitypes.Slot) {
	version, paused, missed, jitter := "current", "", "", ""
	if s.Plan.Version != 0 {
		version = "v" + strconv.Itoa(s.Plan.Version)
	}
	if s.Paused != nil {
		paused = strings.TrimSpace("since " + cli.Stamp(s.Paused.Since) + " by " + s.Paused.By + " " + s.Paused.Reason)
	}
	if s.Missed != nil {
		missed = MissedText(*s.Missed)
	}
	if s.JitterMs > 0 {
		jitter = (time.Duration(s.JitterMs) * time.Millisecond).String()
	}
	catchUp := string(s.CatchUp)
	if s.CatchUp == domain.CatchUpDefault {
		catchUp += " (" + string(s.Effective) + ")"
	}
	declared := ""
	if s.Declared {
		declared = "by the plan"
	}
	c.Facts("schedule "+s.Key, [][2]string{{"plan", s.Plan.Key + " " + version}, {"profile", s.Profile}, {"declared", declared},
		{"cron", s.Cron}, {"time zone", s.TimeZone}, {"jitter", jitter},
		{"overlap", string(s.Overlap)}, {"catch-up", catchUp}, {"input", command.ValueLine(s.Input)}, {"paused", paused},
		{"missed", missed}, {"actor", s.Actor}})
	c.printTimes(s.Times)
	rows := [][]string{}
	for _, x := range slots {
		rows = append(rows, []string{cli.Stamp(x.At), x.State, string(x.Status), domain.ShortID(x.Run), x.Reason})
	}
	c.Table([]string{"SLOT", "RESULT", "STATUS", "RUN", "REASON"}, rows)
	if s.Missed != nil {
		c.Notef("to decide about the missed slots: %s\n", c.Command("schedules decide %s none|last|all", command.Quoted(s.Key)))
	}
}

func (c scheduleCommands) printTimes(times []time.Time) {
	rows := [][]string{}
	for _, at := range times {
		rows = append(rows, []string{at.Format(time.RFC3339), cli.Stamp(at)})
	}
	c.Table([]string{"NEXT", "UTC"}, rows)
}

// scheduleFlags are the settings of a schedule.
type scheduleFlags struct {
	plan, cron, zone, input, overlap, catchUp, profile string
	jitter                                             time.Duration
	labels                                             []string
}

func (s *scheduleFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.plan, "plan", "", "plan to run, or PLAN@VERSION")
	f.StringVar(&s.cron, "cron", "", "minute, hour, day of month, month, day of week, or a name such as @daily")
	f.StringVar(&s.zone, "zone", "", "time zone, such as Europe/Madrid (default UTC)")
	f.DurationVar(&s.jitter, "jitter", 0, "longest random delay of a slot, such as 30s")
	f.StringVar(&s.input, "input", "", "input as JSON, or @FILE")
	f.StringVar(&s.profile, "profile", "", "profile of the plan, such as prod; '' means none")
	f.StringArrayVar(&s.labels, "label", nil, "label of the runs: KEY=VALUE (repeatable)")
	f.StringVar(&s.overlap, "overlap", "", "while an earlier run is active: skip, queue, or cancel_oldest (default skip)")
	f.StringVar(&s.catchUp, "catch-up", "", "missed slots: none, last, all, ask, or default")
}

// change returns the settings in the flags.
func (s *scheduleFlags) change(c *command.Program, cmd *cobra.Command) (out apitypes.ScheduleChange, err error) {
	given := cmd.Flags().Changed
	if given("plan") {
		plan, version, err := command.StoredName(s.plan)
		if err != nil {
			return out, err
		}
		out.Plan, out.Version = &plan, &version
	}
	if given("cron") {
		out.Cron = &s.cron
	}
	if given("zone") {
		out.TimeZone = &s.zone
	}
	if given("jitter") {
		ms := s.jitter.Milliseconds()
		out.JitterMs = &ms
	}
	if given("input") {
		input, err := c.JSONArgument("--input", s.input)
		if err != nil {
			return out, err
		}
		out.Input = &input
	}
	if given("profile") {
		out.Profile = &s.profile
	}
	if given("label") {
		labels, err := command.ParseLabels(s.labels)
		if err != nil {
			return out, err
		}
		out.Labels = &labels
	}
	if given("overlap") {
		out.Overlap = (*domain.Overlap)(&s.overlap)
	}
	if given("catch-up") {
		out.CatchUp = (*domain.CatchUp)(&s.catchUp)
	}
	return out, nil
}

func (c scheduleCommands) createCommand() *cobra.Command {
	var s scheduleFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a schedule", Args: cobra.ExactArgs(1),
		Long: `Creates a schedule: a plan runs at the times of a cron expression. The server must be
running at these times; --catch-up decides about slots that it missed. Without it, an
operator decides if the plan has non-idempotent steps, else the last slot runs.`,
		Example: "  kairos schedules create nightly --plan report --cron '30 2 * * 1-5' --zone Europe/Madrid",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("plan") || !cmd.Flags().Changed("cron") {
				return exit.Usage("--plan and --cron are required")
			}
			change, err := s.change(c.Program, cmd)
			if err != nil {
				return err
			}
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.CreateSchedule(cmd.Context(), apitypes.ScheduleCreate{Key: args[0], ScheduleChange: change})
				if err != nil {
					return err
				}
				if b.InProcess() {
					c.Notef("the schedule starts runs while kairosd serves this database\n")
				}
				return c.Done(out, "schedule %s created; next slot: %s", out.Key, nextSlot(out))
			})
		},
	}
	s.add(cmd)
	return cmd
}

func (c scheduleCommands) updateCommand() *cobra.Command {
	var s scheduleFlags
	cmd := &cobra.Command{
		Use: "update SCHEDULE", Short: "Change a schedule", Args: cobra.ExactArgs(1),
		Long:    "Changes the settings of a schedule that flags name. Runs that it started do not change.",
		Example: "  kairos schedules update nightly --cron '0 3 * * *'\n  kairos schedules update nightly --plan report@4",
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := s.change(c.Program, cmd)
			if err != nil {
				return err
			}
			if change == (apitypes.ScheduleChange{}) {
				return exit.Usage("no change given\n  use --cron, --zone, --plan, or another flag")
			}
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.UpdateSchedule(cmd.Context(), args[0], change)
				if err != nil {
					return err
				}
				return c.Done(out, "schedule %s changed; next slot: %s", out.Key, nextSlot(out))
			})
		},
	}
	s.add(cmd)
	return cmd
}

func (c scheduleCommands) pauseCommand(on bool) *cobra.Command {
	use, short, done := "pause", "Pause a schedule", "paused"
	long := "Pauses a schedule: its slots start no runs, and do not count as missed. Active runs continue."
	if !on {
		use, short, done = "resume", "Resume a schedule", "resumed"
		long = "Resumes a paused schedule. It continues with the next slot."
	}
	reason := ""
	cmd := &cobra.Command{
		Use: use + " SCHEDULE", Short: short, Args: cobra.ExactArgs(1), Long: long,
		Example: "  kairos schedules " + use + " nightly --reason \"the bank is closed\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				s, err := b.PauseSchedule(cmd.Context(), args[0], on, reason)
				if err != nil {
					return err
				}
				return c.Done(s, "schedule %s %s; next slot: %s", s.Key, done, nextSlot(s))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c scheduleCommands) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete SCHEDULE", Short: "Delete a schedule", Args: cobra.ExactArgs(1),
		Long:    "Deletes a schedule. Its runs stay. On a terminal, it requires a confirmation.",
		Example: "  kairos schedules delete nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				s, err := b.DeleteSchedule(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.Done(map[string]any{"key": s.Key, "deleted": true}, "schedule %s deleted", s.Key)
			})
		},
	}
}

func (c scheduleCommands) nextCommand() *cobra.Command {
	cron, zone, n := "", "", 0
	cmd := &cobra.Command{
		Use: "next [SCHEDULE]", Short: "Show the next slots", Args: cobra.MaximumNArgs(1),
		Long: `Shows the next slots of a schedule, or of --cron in --zone. It takes changes of the clock
into account: a time that the clock skips moves to the end of the gap, and a time that it
repeats counts once.`,
		Example: "  kairos schedules next nightly\n  kairos schedules next --cron '30 2 * * *' --zone Europe/Madrid --count 20",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (cron != "") {
				return exit.Usage("use either SCHEDULE or --cron")
			}
			return c.With(cmd, func(b *client.Client) error {
				if len(args) == 1 {
					s, err := b.Schedule(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					cron, zone = s.Cron, s.TimeZone
				}
				times, err := b.ScheduleTimes(cmd.Context(), cron, zone, n)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(times)
				}
				c.printTimes(times)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&cron, "cron", "", "cron expression, instead of a schedule")
	cmd.Flags().StringVar(&zone, "zone", "", "with --cron: time zone (default UTC)")
	cmd.Flags().IntVar(&n, "count", 10, "number of slots, 1 to 100")
	return cmd
}
