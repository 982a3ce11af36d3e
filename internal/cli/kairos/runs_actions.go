package kairos

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// verbText is what help says of an operator's verb.
var verbText = map[domain.Action][3]string{
	domain.ActionResume:   {"Continue a failed, cancelled or waiting run", "Continues the same run at its failed or unfinished nodes; completed nodes are kept and not repeated. --preview says which. --not-before waits for a time, --provider until a provider answers again: the act is stored, and \"kairos bulk\" looks after it.", "kairos resume 7qx2 --preview\n  kairos resume 7qx2\n  kairos resume 7qx2 --not-before 06:00 --detach\n  kairos resume --filter 'status:failed plan:invoice since:24h' --rate 60\n  kairos resume --filter 'status:failed error:provider_429' --provider openai --detach"},
	domain.ActionRerun:    {"Start a new run like an old one", "Starts a new run with the same plan version and input, or the newest version (--version -1), or another input.", "kairos rerun 7qx2 --version -1"},
	domain.ActionFork:     {"Start a new run from a checkpoint of another", "Starts a new run that keeps another run's journal up to --at, optionally with edited outputs of kept nodes, another input, or another plan version. The original never changes.", "kairos fork 7qx2 --at 12 --edit 'currency=\"EUR\"'"},
	domain.ActionCancel:   {"Cancel a run", "Cancels a run: running nodes are asked to end, nothing new starts.", "kairos cancel 7qx2 --reason \"wrong input\""},
	domain.ActionPause:    {"Let no new node of a run start", "Pauses a run: what runs, finishes; nothing new starts until \"continue\".", "kairos pause 7qx2"},
	domain.ActionContinue: {"Continue a paused run", "Continues a run that was paused.", "kairos continue 7qx2"},
	domain.ActionRetryNow: {"Do not wait for the next attempt", "Starts the next attempt of nodes that wait for one, now.", "kairos retry-now 7qx2"},
	domain.ActionStartNow: {"Start a scheduled run at once", "Starts a run now that was to start at a later time.", "kairos start-now 7qx2"},
	domain.ActionRelease:  {"Release a quarantined or held run", "Lets a run go on that was parked after repeated crashes or a restore; --all releases every run that is held since a restore.", "kairos release 7qx2 --reason \"checked\"\n  kairos release --all --reason \"checked\""},
	domain.ActionDelete:   {"Delete a finished run", "Takes a run out of all lists. Its journal stays until retention removes it.", "kairos delete 7qx2"},
}

func (c runCommands) verbCommand(action domain.Action) *cobra.Command {
	help := verbText[action]
	var preview, detach, all bool
	var input, plan string
	var many bulkFlags
	var edits, reuse, stubs []string
	req := domain.VerbRequest{Action: action}
	cmd := &cobra.Command{
		Use: string(action) + " RUN", Short: help[0], Args: cobra.ExactArgs(1), Long: help[1], Example: "  " + help[2],
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if all {
				return c.releaseAll(cmd, plan, req.Reason)
			}
			if many.asked(args) {
				if req.Version != 0 || cmd.Flags().Changed("input") || req.Only != "" || req.Timeout != 0 || req.Attempts != 0 {
					return exit.Usage("--input, --version, --only, --timeout and --attempts are about one run, now")
				}
				all, err := many.request(action, req.Reason)
				if err != nil {
					return err
				}
				return c.many(cmd, all, args, preview, detach)
			}
			if cmd.Flags().Changed("input") {
				if req.Input, err = c.jsonArgument("--input", input); err != nil {
					return err
				}
			}
			for _, e := range edits {
				node, value, ok := strings.Cut(e, "=")
				if !ok {
					return exit.Usage("--edit %q is not node=JSON", e)
				}
				if req.Edits == nil {
					req.Edits = map[string]domain.RawJSON{}
				}
				if req.Edits[node], err = c.jsonArgument("--edit", value); err != nil {
					return err
				}
			}
			if req.At < 0 || req.Version < -1 || req.Attempts < 0 || req.Timeout < 0 {
				return exit.Usage("--at, --attempts and --timeout must not be negative; --version is a number, 0 or -1")
			}
			if req.Instead, err = c.standIns(reuse, stubs); err != nil {
				return err
			}
			if action == domain.ActionFork && !cmd.Flags().Changed("at") {
				return exit.Usage("missing flag --at SEQ: the journal position up to which the fork keeps the run\n  kairos show %s lists the positions; --at 0 keeps nothing, as kairos rerun does", args[0])
			}
			return c.with(cmd, func(b *client.Client) error {
				if err := canDetach(b, detach && executes(action)); err != nil {
					return err
				}
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				req.Run = r.ID
				if action != domain.ActionRerun && action != domain.ActionFork {
					c.told = r.LastSeq
				}
				return c.verb(cmd, b, req, preview, detach)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.Reason, "reason", "", "why, for the audit log")
	f.BoolVar(&detach, "detach", false, "do not wait for the run (with a daemon)")
	f.BoolVar(&preview, "preview", false, "only say what would happen")
	if action != domain.ActionFork {
		many.add(cmd, action)
	}
	switch action {
	case domain.ActionRelease:
		f.BoolVar(&all, "all", false, "release every run that is held since a restore, and end the hold")
		f.StringVar(&plan, "plan", "", "with --all: only runs of this plan; the hold lasts")
		cmd.Use += " | --all"
		some := cmd.Args
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if all {
				return cobra.NoArgs(cmd, args)
			}
			return some(cmd, args)
		}
	case domain.ActionResume:
		f.StringVar(&req.Only, "only", "", "node or node#visit: run only this failed step, then pause the run")
		f.DurationVar(&req.Timeout, "timeout", 0, "timeout of what runs again, this once")
		f.IntVar(&req.Attempts, "attempts", 0, "attempts of what runs again, this once")
	case domain.ActionFork:
		f.Int64Var(&req.At, "at", 0, "journal position to keep, as kairos show prints it; 0 keeps nothing (required)")
		f.StringArrayVar(&reuse, "reuse", nil, "node, node#visit or node#visit[item]: take its recorded result instead of running it again; may be repeated")
		f.StringArrayVar(&stubs, "stub", nil, "node=JSON, node#visit=JSON or node#visit[item]=JSON: take this result instead of running it; may be repeated")
		f.StringArrayVar(&edits, "edit", nil, "node=JSON or node#visit=JSON: replace a kept output; may be repeated")
		fallthrough
	case domain.ActionRerun:
		f.StringVar(&input, "input", "", "another input as JSON, or @FILE")
		f.IntVar(&req.Version, "version", 0, "plan version; 0: the same, -1: the newest")
	}
	return cmd
}

// standIns reads what stands in for steps of a fork.
func (c runCommands) standIns(reuse, stubs []string) (map[string]domain.StandIn, error) {
	var out map[string]domain.StandIn
	put := func(node string, s domain.StandIn) {
		if out == nil {
			out = map[string]domain.StandIn{}
		}
		out[node] = s
	}
	for _, node := range reuse {
		put(node, domain.StandIn{Recorded: true})
	}
	for _, text := range stubs {
		node, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, exit.Usage("--stub %q is not node=JSON", text)
		}
		j, err := c.jsonArgument("--stub", value)
		if err != nil {
			return nil, err
		}
		put(node, domain.StandIn{Output: j})
	}
	return out, nil
}

func (c runCommands) verb(cmd *cobra.Command, b *client.Client, req domain.VerbRequest, preview, detach bool) error {
	ctx := cmd.Context()
	if plain := !slices.Contains([]domain.Action{domain.ActionResume, domain.ActionRerun, domain.ActionFork, domain.ActionCancel}, req.Action); preview || !plain {
		p, err := b.Preview(ctx, req)
		if err != nil {
			return err
		}
		if preview {
			if c.json {
				return c.Print(p)
			}
			c.preview(p)
			return nil
		}
		if !p.Allowed {
			return domain.NewError(domain.CodeConflict, p.Refusal, p.Suggestion)
		}
		if !c.json {
			c.preview(p)
		}
		req.Digest, req.Rev = p.Digest, p.Rev
	}
	r, err := b.Act(ctx, req)
	if err != nil {
		return err
	}
	if executes(req.Action) && !detach {
		return c.follow(ctx, b, r)
	}
	if req.Action == domain.ActionDelete {
		if c.json {
			return c.Print(map[string]any{"id": req.Run, "deleted": true})
		}
		c.Printf("run %s is deleted\n", req.Run)
		return nil
	}
	return c.stands(r)
}

// releaseAll ends a hold. With a database in this process the runs go on when a
// daemon starts, or when each is resumed: a command executes only its own run.
func (c runCommands) releaseAll(cmd *cobra.Command, plan, reason string) error {
	return c.with(cmd, func(b *client.Client) error {
		n, err := b.ReleaseHeld(cmd.Context(), plan, reason)
		if err != nil {
			return err
		}
		if c.json {
			return c.Print(map[string]any{"released": n})
		}
		c.Printf("%d runs released\n", n)
		return nil
	})
}
