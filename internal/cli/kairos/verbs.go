package kairos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/walk"
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

func (c *program) verbCommand(action domain.Action) *cobra.Command {
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

// executes reports whether a run goes on, or a new one begins, by an act.
func executes(a domain.Action) bool {
	switch a {
	case domain.ActionResume, domain.ActionRerun, domain.ActionFork, domain.ActionContinue, domain.ActionRetryNow, domain.ActionStartNow, domain.ActionRelease:
		return true
	}
	return false
}

// standIns reads what stands in for steps of a fork.
func (c *program) standIns(reuse, stubs []string) (map[string]domain.StandIn, error) {
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

func (c *program) verb(cmd *cobra.Command, b *client.Client, req domain.VerbRequest, preview, detach bool) error {
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
func (c *program) releaseAll(cmd *cobra.Command, plan, reason string) error {
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

// preview prints what a verb would do.
func (c *program) preview(p domain.Preview) {
	if p.Damage != nil {
		c.Errorf("%s", damageText(p.Damage))
	}
	if !p.Allowed {
		c.Errorf("not possible: %s\n", p.Refusal)
		if !p.Suggestion.IsZero() {
			c.Errorf("  %s\n", p.Suggestion)
		}
		return
	}
	c.Errorf("%s: %d kept, %d again, %d new", p.Action, len(p.Keep), len(p.Again), len(p.New))
	if n := len(p.InDoubt); n > 0 {
		c.Errorf(", %d in doubt", n)
	}
	c.Errorf("\n")
	for _, group := range []struct {
		name  string
		steps []domain.PreviewStep
	}{{"again", p.Again}, {"later", p.Later}, {"given", p.Given}, {"in doubt", p.InDoubt}, {"dropped", p.Dropped}} {
		for _, s := range group.steps {
			c.Errorf("  %-9s %s %s\n", group.name, step(s), s.Reason)
		}
	}
	for _, s := range p.Effects {
		c.Errorf("  effect    %s (%s)\n", step(s), s.Effect)
	}
	for _, s := range p.Repeats {
		if runs := slices.ContainsFunc(s.Items, func(i domain.RepeatItem) bool { return i.Given == "" }); runs || s.Given == "" && len(s.Items) == 0 {
			if s.Doubtful {
				c.Errorf("  doubtful  %s (%s): it may have been done, what would tell is damaged; use --stub to leave it out\n", step(domain.PreviewStep{Node: s.Node, Visit: s.Visit}), s.Effect)
				continue
			}
			c.Errorf("  twice     %s (%s): use --reuse or --stub to leave it out\n", step(domain.PreviewStep{Node: s.Node, Visit: s.Visit}), s.Effect)
		}
	}
	for _, d := range p.Decisions {
		c.Errorf("  decides   %s → %s\n", step(domain.PreviewStep{Node: d.Node, Visit: d.Visit}), cmp.Or(d.To, d.Ended))
	}
}

func step(s domain.PreviewStep) string {
	if s.Visit > 1 {
		return fmt.Sprintf("%s#%d", s.Node, s.Visit)
	}
	return s.Node
}

func (c *program) approveCommand(approve bool) *cobra.Command {
	req := domain.DecideRequest{Approve: approve}
	var values string
	var detach bool
	name, short := "approve", "Approve what runs ask for"
	if !approve {
		name, short = "reject", "Reject what runs ask for"
	}
	example := "  kairos approve 01jr8k2mf0aaaaaaaaaaaa7qx2 --comment \"checked\"\n  kairos approve 7qx2 --values '{\"amount\": 90}'\n  kairos approve 7qx2 --answer half"
	if !approve {
		example = "  kairos reject 7qx2 --comment \"too expensive\"\n  kairos reject 7qx2 --ask-back --comment \"which customer is it?\""
	}
	cmd := &cobra.Command{
		Use: name + " APPROVAL…", Short: short, Args: cobra.MinimumNArgs(1),
		Long: short + `. APPROVAL is the id that "kairos approvals" prints, or the run's id when only
one question of it is open; "kairos approvals show" says what is asked and where each
answer leads. --values fills the form, or changes what it proposes. With several, the
same answer is given to each, one after the other, and nothing is waited for.`,
		Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if cmd.Flags().Changed("values") {
				if req.Values, err = c.jsonArgument("--values", values); err != nil {
					return err
				}
			}
			return c.with(cmd, func(b *client.Client) error {
				if len(args) > 1 {
					return c.decideAll(cmd, b, req, args)
				}
				if err := canDetach(b, detach); err != nil {
					return err
				}
				p, err := c.findApproval(cmd, b, args[0])
				if err != nil {
					return err
				}
				req.Approval, req.Digest = p.ID, p.Digest // what was read is what is answered
				if r, err := b.FindRun(cmd.Context(), p.Run); err == nil {
					c.told = r.LastSeq
				}
				a, err := b.Decide(cmd.Context(), req)
				if err != nil {
					return err
				}
				r, err := b.FindRun(cmd.Context(), a.Run)
				if err != nil {
					return err
				}
				if detach {
					return c.stands(r)
				}
				err = c.follow(cmd.Context(), b, r)
				if end, endErr := b.FindRun(context.WithoutCancel(cmd.Context()), a.Run); endErr == nil && endedBy(end, a) {
					return nil // the run ended as asked
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&req.Comment, "comment", "", "why")
	if approve {
		cmd.Flags().StringVar(&req.Answer, "answer", "", "id of one of the answers that the plan declares (see kairos approvals)")
	} else {
		cmd.Flags().BoolVar(&req.AskBack, "ask-back", false, "no answer yet: the agent that asks reads the comment, goes on, and may ask again")
	}
	cmd.Flags().StringVar(&values, "values", "", "values of the form as JSON, or @FILE")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the run (with a daemon)")
	return cmd
}

// endedBy reports whether a run failed by the rejection of a request.
func endedBy(r domain.Run, a domain.Approval) bool {
	return r.Status == domain.RunFailed && a.Status == "rejected" && r.Error != nil && r.Error.Code == walk.CodeRejected && r.Error.Node == a.Node
}

// decideAll gives the same answer to several questions; one that cannot be answered
// does not keep the others from it.
func (c *program) decideAll(cmd *cobra.Command, b *client.Client, req domain.DecideRequest, names []string) error {
	type answer struct {
		ID     string `json:"id"`
		Run    string `json:"run,omitempty"`
		Status string `json:"status,omitempty"`
		Error  string `json:"error,omitempty"`
	}
	answers, rows, refused := []answer{}, [][]string{}, 0
	for _, name := range names {
		p, err := c.findApproval(cmd, b, name)
		if err == nil {
			one := req
			one.Approval, one.Digest = p.ID, p.Digest
			p, err = b.Decide(cmd.Context(), one)
		}
		if err != nil {
			refused++
			answers, rows = append(answers, answer{ID: name, Error: err.Error()}), append(rows, []string{name, "", "not answered: " + err.Error()})
			continue
		}
		answers, rows = append(answers, answer{p.ID, p.Run, p.Status, ""}), append(rows, []string{p.ID, domain.ShortID(p.Run), p.Status})
	}
	if c.json {
		if err := c.Print(map[string]any{"items": answers}); err != nil {
			return err
		}
	} else {
		c.Table([]string{"APPROVAL", "RUN", "ANSWER"}, rows)
	}
	if refused > 0 {
		return exit.With(exit.BadUsage, fmt.Errorf("%d of %d were not answered", refused, len(names)))
	}
	return nil
}

// findApproval takes an approval's id, or a run's with one open question.
func (c *program) findApproval(cmd *cobra.Command, b *client.Client, id string) (p domain.Approval, err error) {
	if p, err = b.Approval(cmd.Context(), id); err == nil || domain.CodeOf(err) != domain.CodeNotFound && domain.CodeOf(err) != domain.CodeInvalid {
		return p, err
	}
	r, err := b.FindRun(cmd.Context(), id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return p, domain.Errorf(domain.CodeNotFound, "no approval and no run %q", id).Suggest("kairos approvals lists what is open")
	case err != nil:
		return p, err
	}
	list, err := b.Approvals(cmd.Context(), domain.ApprovalFilter{Run: r.ID, Status: "open"})
	if err != nil {
		return p, err
	}
	if len(list.Items) != 1 {
		return p, domain.Errorf(domain.CodeConflict, "run %s has %d open questions", domain.ShortID(r.ID), len(list.Items)).
			Suggest("give the approval's id: kairos show %s", domain.ShortID(r.ID))
	}
	return list.Items[0], nil
}

func (c *program) resolveCommand() *cobra.Command {
	var happened string
	var retry, skip, fail bool
	req := domain.ResolveRequest{Item: -1, Visit: 1}
	cmd := &cobra.Command{
		Use: "resolve RUN NODE", Short: "Settle an attempt that may or may not have happened", Args: cobra.ExactArgs(2),
		Long: `An unsafe node that was running when the daemon died is in doubt: nobody knows
whether its effect happened. Look, then say: it happened (with its output), run it
again, skip it, or fail it.`,
		Example: "  kairos resolve 7qx2 post_ledger --happened '{\"id\": 4711}' --reason \"found in the ledger\"\n  kairos resolve 7qx2 post_ledger --retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			given := 0
			for _, o := range []struct {
				set    bool
				action string
			}{{cmd.Flags().Changed("happened"), "happened"}, {retry, "retry"}, {skip, "skip"}, {fail, "fail"}} {
				if o.set {
					given++
					req.Action = o.action
				}
			}
			if given != 1 {
				return exit.Usage("say exactly one of --happened OUTPUT, --retry, --skip and --fail")
			}
			var err error
			if req.Action == "happened" {
				if req.Output, err = c.jsonArgument("--happened", happened); err != nil {
					return err
				}
			}
			return c.with(cmd, func(b *client.Client) error {
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				req.Run, req.Node, c.told = r.ID, args[1], r.LastSeq
				if req.Attempt == 0 {
					if err := latestDoubt(cmd, b, &req, cmd.Flags().Changed("visit")); err != nil {
						return err
					}
				}
				if r, err = b.Resolve(cmd.Context(), req); err != nil {
					return err
				}
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&happened, "happened", "", "it happened; its output as JSON, or @FILE")
	f.BoolVar(&retry, "retry", false, "it did not happen: run it again")
	f.BoolVar(&skip, "skip", false, "skip the node")
	f.BoolVar(&fail, "fail", false, "fail the node")
	f.StringVar(&req.Reason, "reason", "", "why, for the audit log")
	f.IntVar(&req.Visit, "visit", 1, "visit of the node")
	f.IntVar(&req.Item, "item", -1, "item of a foreach")
	f.IntVar(&req.Attempt, "attempt", 0, "attempt (default: the latest)")
	return cmd
}

// latestDoubt finds which attempt of a node is in doubt.
func latestDoubt(cmd *cobra.Command, b *client.Client, req *domain.ResolveRequest, visitGiven bool) error {
	d, err := b.Detail(cmd.Context(), req.Run)
	if err != nil {
		return err
	}
	for i := len(d.Journal) - 1; i >= 0; i-- {
		e := &d.Journal[i]
		if e.Node == req.Node && e.Attempt > 0 && (!visitGiven || e.Visit == req.Visit) && (req.Item < 0 || e.Item == req.Item) {
			req.Visit, req.Item, req.Attempt = e.Visit, e.Item, e.Attempt
			return nil
		}
	}
	return domain.Errorf(domain.CodeNotFound, "run %s has no attempt of node %q", domain.ShortID(req.Run), req.Node)
}
