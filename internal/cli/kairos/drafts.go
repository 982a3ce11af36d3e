package kairos

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

func (c draftCommands) group() *cobra.Command {
	return command.Group("drafts", "Manage generated plans", c.listCommand, c.draftShow(), c.draftRefine(), c.draftRun(), c.acceptCommand(),
		c.discardCommand())
}

func (c draftCommands) listCommand() *cobra.Command {
	all, limit := false, 0
	cmd := &cobra.Command{
		Use: "list", Short: "List generated plans", Args: cobra.NoArgs,
		Long: `Lists generated plans ("kairos ask") that are being planned, or neither accepted nor
discarded. DRAFT is an id, at least four characters of its beginning or end, or the key
of the plan.`,
		Example: "  kairos drafts\n  kairos drafts --all --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 1000 {
				return exit.Usage("invalid --limit %d\n  use 1 to 1000", limit)
			}
			return c.With(cmd, func(b *client.Client) error { return c.listDrafts(cmd, b, all, limit) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include accepted and discarded drafts")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of items, 1 to 1000")
	return cmd
}

func (c draftCommands) acceptCommand() *cobra.Command {
	var a domain.DraftAcceptance
	cmd := &cobra.Command{
		Use: "accept DRAFT", Short: "Accept a draft", Args: cobra.ExactArgs(1),
		Long: `Accepts a draft: it becomes a regular plan. A draft of an existing plan becomes the
current version of that plan. --alternative accepts one of the
alternatives that "kairos drafts show" lists instead of the proposed plan. kairosd
stores it as a version of the same plan.`,
		Example: "  kairos drafts accept plan-4f1c --reason \"for the newsletter\"\n  kairos drafts accept plan-4f1c --alternative cheaper",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				d, err := findDraft(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if d.plan != nil {
					p, err := b.AcceptPlan(cmd.Context(), d.plan.ID, a)
					if err != nil {
						return err
					}
					return c.printPlan(p, "is accepted")
				}
				if d.State == domain.DraftAccepted && a.Alternative == "" {
					return domain.Errorf(domain.CodeConflict, "%s is not a draft: it was accepted", d.Plan.Key).
						Suggest("print the plan: %s", c.Command("plans show %s", d.Plan.Key))
				}
				got, err := b.AcceptDraft(cmd.Context(), d.ID, a)
				if err != nil {
					return err
				}
				return c.printDraft(got, fmt.Sprintf("%s v%d is accepted", got.Plan.Key, got.Plan.Version))
			})
		},
	}
	cmd.Flags().StringVar(&a.Reason, "reason", "", "reason, for the audit log")
	cmd.Flags().StringVar(&a.Alternative, "alternative", "", "accept this alternative, such as cheaper or faster")
	return cmd
}

func (c draftCommands) discardCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "discard DRAFT", Short: "Discard a draft", Args: cobra.ExactArgs(1),
		Long: `Discards a draft: planning stops, and its plan is archived. "kairos plans unarchive"
restores the plan. On a terminal, it requires a confirmation.`,
		Example: "  kairos drafts discard plan-4f1c",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				d, err := findDraft(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if d.plan != nil {
					if err := b.ArchivePlan(cmd.Context(), d.plan.ID, true, reason); err != nil {
						return err
					}
					d.plan.Archived = true
					return c.printPlan(*d.plan, "is archived")
				}
				got, err := b.DiscardDraft(cmd.Context(), d.ID, reason)
				if err != nil {
					return err
				}
				return c.printDraft(got, fmt.Sprintf("draft %s is discarded", got.ID))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c draftCommands) listDrafts(cmd *cobra.Command, b *client.Client, all bool, limit int) error {
	list, err := b.Drafts(cmd.Context(), all, limit)
	if err != nil {
		return err
	}
	made := map[string]bool{}
	rows := [][]string{}
	for _, d := range list {
		made[d.Plan.Key] = true
		plan := d.Plan.Key
		if d.Plan.Version > 0 {
			plan += fmt.Sprintf(" v%d", d.Plan.Version)
		}
		what := d.Query
		if d.Error != nil {
			what += ": " + d.Error.Message
		}
		rows = append(rows, []string{d.ID, string(d.State), plan, cmp.Or(d.Model, d.By), cli.Stamp(d.CreatedAt), what})
	}
	// Plans from requests of programs have no draft.
	plans, err := b.Plans(cmd.Context(), domain.PlanFilter{Stage: string(domain.StageDraft), Page: domain.Page{Limit: 200}})
	if err != nil {
		return err
	}
	others := []apitypes.Plan{}
	for _, p := range plans.Items {
		if !made[p.Key] {
			others = append(others, apitypes.PlanOf(p))
			rows = append(
				rows,
				[]string{"-", string(domain.DraftReady), fmt.Sprintf("%s v%d", p.Key, p.Latest), "", cli.Stamp(p.CreatedAt), p.Name},
			)
		}
	}
	if c.JSON {
		return c.Print(map[string]any{"items": append([]domain.Draft{}, list...), "nextCursor": nil, "hasMore": false, "plans": others})
	}
	c.Table([]string{"DRAFT", "STATUS", "PLAN", "BY", "CREATED", "REQUEST"}, rows)
	if len(rows) == 0 {
		c.Errorf("no drafts\n")
	}
	return nil
}

func (c draftCommands) printDraft(d domain.Draft, what string) error {
	if c.JSON {
		return c.Print(d)
	}
	c.Printf("%s\n", what)
	return nil
}

func (c draftCommands) draftRefine() *cobra.Command {
	var r domain.DraftRequest
	cmd := &cobra.Command{
		Use: "refine DRAFT [TEXT…]", Short: "Make another draft of a request", Args: cobra.MinimumNArgs(1),
		Long: `Makes another draft of a request, shows it, and prints what changed. TEXT replaces the
request. --change describes only the change. --provider selects the model that plans.
The refined draft stays until you discard it.`,
		Example: "  kairos drafts refine plan-4f1c \"write a post about tea, with a summary\"\n" +
			"  kairos drafts refine plan-4f1c --change \"require an approval before it is sent\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Query = strings.Join(args[1:], " ")
			if strings.TrimSpace(r.Query+r.Change+r.Provider) == "" {
				return exit.Usage("missing argument TEXT, or --change, or --provider")
			}
			return c.With(cmd, func(b *client.Client) error { return c.refine(cmd, b, args[0], r) })
		},
	}
	cmd.Flags().StringVar(&r.Change, "change", "", "description of the change")
	cmd.Flags().StringVar(&r.Provider, "provider", "", "provider of the model that plans")
	cmd.Flags().IntVar(&r.Constraints.MaxSteps, "max-steps", 0, "maximum number of steps of the plan")
	cmd.Flags().Float64Var(&r.Constraints.Budget, "budget", 0, "maximum number of tokens that the plan uses")
	return cmd
}

func (c draftCommands) refine(cmd *cobra.Command, b *client.Client, name string, r domain.DraftRequest) error {
	ctx := cmd.Context()
	from, err := findDraft(ctx, b, name)
	if err != nil {
		return err
	}
	var next domain.Draft
	if from.plan != nil { // a program sent the request, and its text is not stored
		if strings.TrimSpace(r.Query) == "" {
			return exit.Usage("the request of %s is not stored\n  give the whole request as TEXT", from.plan.Key)
		}
		r.Fresh, from.Plan = true, domain.PlanRef{Key: from.plan.Key, Version: from.plan.Latest}
		next, err = b.StartDraft(ctx, r)
	} else {
		next, err = b.RefineDraft(ctx, from.ID, r)
	}
	if err != nil {
		return err
	}
	if next, err = c.followDraft(ctx, b, next); err != nil {
		return err
	}
	if err := next.Failed(); err != nil {
		return err
	}
	plan, err := planOf(ctx, b, next)
	if err != nil {
		return err
	}
	var d plandiff.Diff
	if from.Plan.Version > 0 {
		old, err := b.Plan(ctx, from.Plan.Key)
		if err != nil {
			return err
		}
		before, err := b.VersionByNumber(ctx, old.ID, from.Plan.Version)
		if err != nil {
			return err
		}
		after, err := b.VersionByNumber(ctx, plan.ID, plan.Version)
		if err != nil {
			return err
		}
		d = plandiff.Versions(before, after)
	}
	if c.JSON {
		return c.Print(map[string]any{"draft": next, "plan": plan, "added": d.Added, "removed": d.Removed, "lines": diffLines(d)})
	}
	c.showPlan(next, plan)
	for _, l := range d.Lines {
		c.Printf("%s%s\n", l.Sign, l.Text)
	}
	c.Notef("draft %s; accept it: %s\n", next.ID, c.Command("drafts accept %s", next.ID))
	return nil
}

func (c draftCommands) draftRun() *cobra.Command {
	var r domain.DraftStart
	var prompt, input string
	detach, dry := false, false
	cmd := &cobra.Command{
		Use: "run DRAFT", Short: "Run a draft and wait for its result", Args: cobra.ExactArgs(1),
		Long: `Starts a run of a draft, with its request as input, and prints the output. This accepts
the draft. A draft of an existing plan stays a draft, unless --accept is given.
--dry-run runs only steps that compute or read, and the draft stays a draft.`,
		Example: "  kairos drafts run plan-4f1c\n  kairos drafts run plan-4f1c --accept --detach\n" +
			"  kairos drafts run plan-4f1c --dry-run --prompt \"a post about tea\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := c.Input(cmd, prompt, input)
			if err != nil {
				return err
			}
			if value != nil && !dry {
				return exit.Usage("--prompt and --input require --dry-run\n  a run of a draft gets its request as input")
			}
			return c.With(cmd, func(b *client.Client) error {
				if err := canDetach(b, detach); err != nil {
					return err
				}
				d, err := findDraft(cmd.Context(), b, args[0])
				switch {
				case err != nil:
					return err
				case dry:
					return c.dryRun(cmd.Context(), b, d, value, detach)
				}
				return c.runDraft(cmd.Context(), b, d, r, detach)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&r.Accept, "accept", false, "also run non-idempotent steps, and replace the current version of a plan")
	f.StringVar(&r.Session, "session", "", "session for memory (default: the id of the run)")
	f.StringVar(&r.Reason, "reason", "", "reason, for the audit log")
	f.BoolVar(&detach, "detach", false, "do not wait for the run (requires a server)")
	f.BoolVar(&dry, "dry-run", false, "run only steps that compute or read, such as an HTTP GET")
	f.StringVar(&prompt, "prompt", "", "with --dry-run: input as text")
	f.StringVar(&input, "input", "", "with --dry-run: input as JSON, or @FILE")
	cmd.MarkFlagsMutuallyExclusive("prompt", "input")
	cmd.MarkFlagsMutuallyExclusive("accept", "dry-run")
	return cmd
}

// runDraft runs a draft with its request as input, and follows the run.
func (c draftCommands) runDraft(ctx context.Context, b *client.Client, d drafted, r domain.DraftStart, detach bool) error {
	if d.plan != nil {
		return domain.Errorf(domain.CodeConflict, "the input of %s is unknown", d.plan.Key).
			Suggest("run the plan: %s", c.Command("run %s --prompt TEXT", d.plan.Key))
	}
	run, err := b.RunDraft(ctx, d.ID, r)
	if err != nil {
		return err
	}
	if detach {
		return c.printID(run)
	}
	return c.follow(ctx, b, run)
}

// dryRun starts a dry run of a draft. The draft stays a draft.
func (c draftCommands) dryRun(ctx context.Context, b *client.Client, d drafted, input domain.RawJSON, detach bool) error {
	plan, hash := d.Plan.Key, d.Hash
	if d.plan != nil {
		plan, hash = d.plan.ID, d.plan.LatestHash
	}
	if hash == "" {
		return domain.Errorf(domain.CodeConflict, "the draft has no plan (status: %s)", d.State)
	}
	r, err := b.Start(ctx, domain.StartRequest{Plan: plan, Hash: hash, Input: input, Origin: "ask", Dry: true,
		Labels: map[string]string{"draft": "yes"}})
	if err != nil {
		return err
	}
	if detach {
		return c.printID(r)
	}
	return c.follow(ctx, b, r)
}
