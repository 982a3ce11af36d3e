package incoming

import (
	"fmt"
	"maps"
	"slices"
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

type hookCommands struct{ *command.Program }

// Hooks returns the commands of hooks.
func Hooks(p *command.Program) *cobra.Command {
	c := hookCommands{p}
	return command.Group("hooks", "Manage hooks", c.listCommand, c.showCommand(), c.createCommand(true), c.createCommand(false),
		c.pauseCommand(true), c.pauseCommand(false), c.deleteCommand(), c.deliveriesCommand(), c.deliveryCommand(), c.replayCommand())
}

func (c hookCommands) listCommand() *cobra.Command {
	var l command.ListFlags
	var f domain.HookFilter
	cmd := &cobra.Command{
		Use: "list", Short: "List hooks", Args: cobra.NoArgs,
		Long: "Lists hooks by key. A hook is an address, /hooks/KEY, to which another system delivers events,\n" +
			"or a pattern of files.",
		Example: "  kairos hooks\n  kairos hooks --filter order",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page = l.Page()
			return c.With(cmd, func(b *client.Client) error {
				list, next, err := b.Hooks(cmd.Context(), f)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, h := range list {
					rows = append(rows, []string{h.Key, hookTarget(h), string(h.Scheme), cli.Clip(h.Secret+h.Files, 60),
						command.Yes(h.Paused != nil)})
				}
				return c.ListOf(append([]apitypes.Hook{}, list...), next,
					[]string{"HOOK", "TARGET", "SCHEME", "SECRET OR FILES", "PAUSED"}, rows, "no hooks found")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&f.Text, "filter", "", "part of the key")
	return cmd
}

// hookTarget is the plan or the signal of a hook.
func hookTarget(h apitypes.Hook) string {
	if h.Plan != nil {
		return "plan " + h.Plan.Key
	}
	return "signal " + cli.Clip(h.Signal, 40)
}

func (c hookCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show HOOK", Short: "Show a hook", Args: cobra.ExactArgs(1),
		Long: "Shows the settings of a hook, and warnings about its plan.", Example: "  kairos hooks show orders",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				h, err := b.Hook(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(h)
				}
				address, settle := "/hooks/"+h.Key, ""
				if h.Scheme == domain.HookFiles {
					address, settle = "", (time.Duration(h.SettleMs) * time.Millisecond).String()
				}
				c.Facts("hook "+h.Key, [][2]string{{"address", address}, {"files", h.Files}, {"settle", settle},
					{"target", hookTarget(h.Hook)}, {"profile", h.Profile}, {"scheme", string(h.Scheme)}, {"secret", h.Secret},
					{"filter", h.Filter}, {"input", h.Input}, {"key", h.SignalKey},
					{"paused", command.Yes(h.Paused != nil)}, {"actor", h.Actor}, {"warning", strings.Join(h.Warnings, "; ")}})
				return nil
			})
		},
	}
}

// createCommand creates a hook, or changes one.
func (c hookCommands) createCommand(create bool) *cobra.Command {
	plan, scheme, settle, labels, texts := "", "", time.Duration(0), []string(nil), map[string]*string{}
	cmd := &cobra.Command{
		Use: "update HOOK", Short: "Change a hook", Args: cobra.ExactArgs(1),
		Long: "Changes the settings of a hook that flags name.", Example: "  kairos hooks update orders --filter \"body.n > 1\"",
	}
	if create {
		cmd.Use, cmd.Short = "create NAME", "Create a hook"
		cmd.Long = `Creates a hook: deliveries to /hooks/NAME start runs of a plan, or send a signal. --secret
is the name of a secret of the configuration with hooks: true. --filter, --input, --signal, and
--signal-key are CEL expressions over body, headers, and id.

With --files instead of --secret, kairosd finds new files in a directory that hooks.directories
of the configuration permits. It delivers each file once, when it has been unchanged for the
time of --settle.`
		cmd.Example = "  kairos hooks create orders --plan order --scheme stripe --secret STRIPE --input '{\"order\": body.id}'\n" +
			"  kairos hooks create paid --signal '\"paid.\" + body.order' --scheme bearer --secret SHOP\n" +
			"  kairos hooks create invoices --plan invoice --files '/data/in/*.pdf'"
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e, given := apitypes.HookEdit{}, cmd.Flags().Changed
		if given("plan") {
			name, version, err := command.StoredName(plan)
			if err != nil {
				return err
			}
			e.Plan, e.Version = &name, &version
		}
		for name, into := range map[string]**string{"secret": &e.Secret, "files": &e.Files, "filter": &e.Filter,
			"input": &e.Input, "signal": &e.Signal, "signal-key": &e.SignalKey, "profile": &e.Profile} {
			if given(name) {
				*into = texts[name]
			}
		}
		if given("scheme") {
			e.Scheme = (*domain.HookScheme)(&scheme)
		}
		if given("settle") {
			ms := settle.Milliseconds()
			e.SettleMs = &ms
		}
		if given("label") {
			m, err := command.ParseLabels(labels)
			if err != nil {
				return err
			}
			e.Labels = &m
		}
		if e == (apitypes.HookEdit{}) {
			return exit.Usage("no setting given\n  use --plan, --scheme, --secret, or another flag")
		}
		return c.With(cmd, func(b *client.Client) error {
			if !create {
				h, err := b.UpdateHook(cmd.Context(), args[0], e)
				if err != nil {
					return err
				}
				return c.Done(h, "hook %s changed", h.Key)
			}
			h, err := b.CreateHook(cmd.Context(), apitypes.HookCreate{Key: args[0], HookEdit: e})
			if err != nil {
				return err
			}
			for _, w := range h.Warnings {
				c.Notef("warning: %s\n", w)
			}
			if h.Scheme == domain.HookFiles {
				return c.Done(h, "hook %s created; it starts with the files that exist", h.Key)
			}
			return c.Done(h, "hook %s created; its address is /hooks/%s", h.Key, h.Key)
		})
	}
	f := cmd.Flags()
	f.StringVar(&plan, "plan", "", "plan to run, or PLAN@VERSION")
	f.StringVar(&scheme, "scheme", "", "signatures: standard, github, stripe, slack, or bearer; or files")
	f.DurationVar(&settle, "settle", domain.SettleDefault, "how long a file must be unchanged")
	for name, usage := range map[string]string{"secret": "name of a secret of the configuration",
		"files":  "pattern of files to deliver, an absolute path",
		"filter": "CEL expression that selects deliveries (default all)",
		"input":  "CEL expression for the input or the data (default the body)",
		"signal": "CEL expression for the name of the signal to send", "signal-key": "CEL expression for the key of the signal",
		"profile": "profile of the plan, such as prod; '' means none"} {
		texts[name] = f.String(name, "", usage)
	}
	f.StringArrayVar(&labels, "label", nil, "label of the runs: KEY=VALUE (repeatable)")
	return cmd
}

func (c hookCommands) pauseCommand(on bool) *cobra.Command {
	use, short, done, reason := "pause", "Pause a hook", "paused", ""
	long := "Pauses a hook: deliveries are refused with 503, so that senders repeat them later."
	if !on {
		use, short, done, long = "resume", "Resume a hook", "resumed", "Resumes a paused hook."
	}
	cmd := &cobra.Command{
		Use: use + " HOOK", Short: short, Args: cobra.ExactArgs(1), Long: long, Example: "  kairos hooks " + use + " orders",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				h, err := b.PauseHook(cmd.Context(), args[0], on, reason)
				if err != nil {
					return err
				}
				return c.Done(h, "hook %s %s", h.Key, done)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c hookCommands) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete HOOK", Short: "Delete a hook", Args: cobra.ExactArgs(1),
		Long: "Deletes a hook and its deliveries. On a terminal, it requires a confirmation.", Example: "  kairos hooks delete orders",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				h, err := b.DeleteHook(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.Done(map[string]any{"key": h.Key, "deleted": true}, "hook %s deleted", h.Key)
			})
		},
	}
}

func (c hookCommands) deliveriesCommand() *cobra.Command {
	var l command.ListFlags
	status := ""
	cmd := &cobra.Command{
		Use: "deliveries HOOK", Short: "List the deliveries to a hook", Args: cobra.ExactArgs(1),
		Long:    "Lists the deliveries to a hook, newest first, with the reason why each was refused.",
		Example: "  kairos hooks deliveries orders --status refused",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, next, err := b.HookDeliveries(cmd.Context(), domain.DeliveryFilter{Hook: args[0],
					State: domain.DeliveryState(status), Page: l.Page()})
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, d := range list {
					rows = append(rows, []string{d.ID, cli.Stamp(d.ReceivedAt), string(d.Status), d.Reason, domain.ShortID(d.Run),
						cli.Clip(d.Key, 40)})
				}
				return c.ListOf(append([]apitypes.HookDelivery{}, list...), next,
					[]string{"ID", "RECEIVED", "STATUS", "REASON", "RUN", "KEY"}, rows, "no deliveries found")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&status, "status", "", "accepted, duplicate, filtered, or refused")
	return cmd
}

func (c hookCommands) deliveryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delivery DELIVERY", Short: "Show a delivery", Args: cobra.ExactArgs(1),
		Long: "Shows a delivery with its headers and its body.", Example: "  kairos hooks delivery 06gztmgk",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				d, err := b.HookDelivery(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(d)
				}
				c.Facts("delivery "+d.ID, [][2]string{{"hook", d.Hook}, {"status", string(d.Status)}, {"reason", d.Reason},
					{"message", d.Message}, {"event", d.Event}, {"run", d.Run}, {"signal", d.Signal}, {"replay of", d.ReplayOf},
					{"verified", command.Yes(d.Verified)}, {"sender", d.Remote}, {"received", cli.Stamp(d.ReceivedAt)},
					{"size", cli.Size(int64(d.Size))}})
				for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
					c.Printf("  %s: %s\n", name, cli.FirstLine(d.Headers[name]))
				}
				if d.Body != "" {
					c.Printf("\n%s\n", command.IndentJSON(domain.RawJSON(d.Body), ""))
				}
				return nil
			})
		},
	}
}

func (c hookCommands) replayCommand() *cobra.Command {
	r, status, since, preview := apitypes.ReplayCreate{}, "", time.Duration(0), false
	cmd := &cobra.Command{
		Use: "replay HOOK [DELIVERY…]", Short: "Replay deliveries to a hook", Args: cobra.MinimumNArgs(1),
		Long: `Replays the deliveries that are named, or else one refused delivery of each event, oldest
first. --status and --since select others. An event that was accepted later is left out. A bulk
operation replays them. Each replay has a key that names the original.`,
		Example: "  kairos hooks replay orders --since 24h --preview\n  kairos hooks replay orders --canary",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Deliveries, r.Status = args[1:], domain.DeliveryState(status)
			if since > 0 {
				r.Since = time.Now().Add(-since)
			}
			return c.With(cmd, func(b *client.Client) error {
				p, err := b.PreviewReplay(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				text := deliveriesText(p)
				if preview {
					return c.Done(p, "%s would be replayed", text)
				}
				c.Notef("%s\n", text)
				r.Digest = p.Digest
				op, err := b.Replay(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				return c.Done(op, "operation %s started; show its progress: %s", op.ID, c.Command("operations show %s", op.ID))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&status, "status", "refused", "outcome: accepted, filtered, or refused")
	f.DurationVar(&since, "since", 0, "only deliveries of this time until now, such as 24h")
	f.BoolVar(&preview, "preview", false, "only show how many deliveries would be replayed")
	f.BoolVar(&r.Canary, "canary", false, "replay one delivery first")
	f.IntVar(&r.Rate, "rate", 0, "deliveries per minute")
	f.StringVar(&r.Reason, "reason", "", "reason, for the audit log")
	return cmd
}

// deliveriesText describes the deliveries that a replay selects.
func deliveriesText(p apitypes.ReplayPreview) string {
	switch n := len(p.Deliveries); n {
	case 0:
		return "0 deliveries"
	case 1:
		return "1 delivery, of " + cli.Stamp(p.First)
	default:
		return fmt.Sprintf("%d deliveries, %s to %s", n, cli.Stamp(p.First), cli.Stamp(p.Last))
	}
}
