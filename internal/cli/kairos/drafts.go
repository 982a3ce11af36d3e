package kairos

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// draftsCommand looks after plans that a planner makes of intents.
func (c draftCommands) draftsCommand() *cobra.Command {
	all, limit := false, 0
	cmd := &cobra.Command{
		Use: "drafts", Short: "List, show, refine, try, start, accept and discard drafts of plans", Args: cobra.NoArgs,
		Long: `Lists what a planner makes or made of intents ("kairos ask") and what nobody has
accepted or discarded yet: being planned, to be accepted, or without a plan. DRAFT is
the id of one, a part of it that it alone begins or ends with, or its plan's key.`,
		Example: "  kairos drafts\n  kairos drafts show plan-4f1c\n  kairos drafts refine plan-4f1c --change \"with tags\"\n" +
			"  kairos drafts accept plan-4f1c --reason \"for the newsletter\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 1000 {
				return exit.Usage("--limit takes 1 to 1000")
			}
			return c.with(cmd, func(b *client.Client) error { return c.listDrafts(cmd, b, all, limit) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those that were accepted or discarded, too")
	cmd.Flags().IntVar(&limit, "limit", 100, "at most so many (1000)")
	var reason, alternative string
	act := func(use, short, long string, do func(cmd *cobra.Command, b *client.Client, d drafted) error) *cobra.Command {
		sub := &cobra.Command{
			Use: use + " DRAFT", Short: short, Args: cobra.ExactArgs(1), Long: long, Example: "  kairos drafts " + use + " plan-4f1c",
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.with(cmd, func(b *client.Client) error {
					d, err := findDraft(cmd.Context(), b, args[0])
					if err != nil {
						return err
					}
					return do(cmd, b, d)
				})
			},
		}
		sub.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
		return sub
	}
	accept := act("accept", "Take a draft into use", `Takes a draft into use: from now on it is a plan like those that people wrote. One
that was made of a plan in use becomes the current version of that. --alternative
accepts one of the alternatives that "kairos drafts show" lists instead of the
proposed plan. kairosd stores it as a version of the same plan.`, func(cmd *cobra.Command, b *client.Client, d drafted) error {
		if d.plan != nil {
			p, err := b.AcceptPlan(cmd.Context(), d.plan.ID, domain.DraftAcceptance{Alternative: alternative, Reason: reason})
			if err != nil {
				return err
			}
			return c.planSaid(p, "is in use")
		}
		if d.State == domain.DraftAccepted && alternative == "" {
			return domain.Errorf(domain.CodeConflict, "%s is no draft: it is in use", d.Plan).Suggest("kairos plans show %s prints it", d.Plan)
		}
		got, err := b.AcceptDraft(cmd.Context(), d.ID, domain.DraftAcceptance{Alternative: alternative, Reason: reason})
		if err != nil {
			return err
		}
		return c.draftSaid(got, fmt.Sprintf("%s v%d is in use", got.Plan, got.Version))
	})
	accept.Flags().StringVar(&alternative, "alternative", "", "accept this alternative, such as cheaper or faster")
	discard := act("discard", "Give a draft up", `Gives a draft up: planning that is under way ends, and its plan is in no list any more.
"kairos plans unarchive" brings that back.`, func(cmd *cobra.Command, b *client.Client, d drafted) error {
		if d.plan != nil {
			if err := b.ArchivePlan(cmd.Context(), d.plan.ID, true, reason); err != nil {
				return err
			}
			d.plan.Archived = true
			return c.planSaid(*d.plan, "is put away")
		}
		got, err := b.DiscardDraft(cmd.Context(), d.ID, reason)
		if err != nil {
			return err
		}
		return c.draftSaid(got, fmt.Sprintf("draft %s is discarded", got.ID))
	})
	cmd.AddCommand(c.draftShow(), c.draftRefine(), c.draftTry(), c.draftStart(), accept, discard)
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
		made[d.Plan] = true
		plan := d.Plan
		if d.Version > 0 {
			plan += fmt.Sprintf(" v%d", d.Version)
		}
		what := d.Query
		if d.Error != nil {
			what += ": " + d.Error.Message
		}
		rows = append(rows, []string{d.ID, string(d.State), plan, cmp.Or(d.Model, d.By), cli.Stamp(d.CreatedAt), what})
	}
	// Plans that programs asked for have no draft.
	plans, err := b.Plans(cmd.Context(), domain.PlanFilter{Stage: string(domain.StageDraft), Page: domain.Page{Limit: 200}})
	if err != nil {
		return err
	}
	others := []planView{}
	for _, p := range plans.Items {
		if !made[p.Key] {
			others = append(others, viewPlan(p))
			rows = append(rows, []string{"-", string(domain.DraftReady), fmt.Sprintf("%s v%d", p.Key, p.Latest), "", cli.Stamp(p.CreatedAt), p.Name})
		}
	}
	if c.json {
		return c.Print(map[string]any{"items": append([]domain.Draft{}, list...), "plans": others})
	}
	c.Table([]string{"DRAFT", "STATE", "PLAN", "BY", "SINCE", "INTENT"}, rows)
	if len(rows) == 0 {
		c.Errorf("no draft waits\n")
	}
	return nil
}

func (c draftCommands) draftSaid(d domain.Draft, what string) error {
	if c.json {
		return c.Print(d)
	}
	c.Printf("%s\n", what)
	return nil
}

func (c draftCommands) draftRefine() *cobra.Command {
	var r domain.DraftRequest
	cmd := &cobra.Command{
		Use: "refine DRAFT [TEXT…]", Short: "Make another draft, with other words or with a change", Args: cobra.MinimumNArgs(1),
		Long: `Makes another draft of the same intent, shows it, and prints what changed. TEXT is the
whole intent in new words; --change says only what should be different; --provider has
another model plan. The draft that is refined stays as it is until it is discarded.`,
		Example: "  kairos drafts refine plan-4f1c \"write a post about tea, with a summary\"\n  kairos drafts refine plan-4f1c --change \"ask a person before it is sent\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Query = strings.Join(args[1:], " ")
			if strings.TrimSpace(r.Query+r.Change+r.Provider) == "" {
				return exit.Usage("say what should be different: TEXT, --change or --provider")
			}
			return c.with(cmd, func(b *client.Client) error { return c.refine(cmd, b, args[0], r) })
		},
	}
	cmd.Flags().StringVar(&r.Change, "change", "", "what should be different")
	cmd.Flags().StringVar(&r.Provider, "provider", "", "whose model plans")
	cmd.Flags().IntVar(&r.Constraints.MaxSteps, "max-steps", 0, "most steps of the plan")
	cmd.Flags().Float64Var(&r.Constraints.Budget, "budget", 0, "most tokens that the plan may use")
	return cmd
}

func (c draftCommands) refine(cmd *cobra.Command, b *client.Client, name string, r domain.DraftRequest) error {
	ctx := cmd.Context()
	from, err := findDraft(ctx, b, name)
	if err != nil {
		return err
	}
	var next domain.Draft
	if from.plan != nil { // a program asked for it: its words are not known
		if strings.TrimSpace(r.Query) == "" {
			return exit.Usage("%s was not asked for in words that are kept: say the whole intent", from.plan.Key)
		}
		r.Fresh, from.Plan, from.Version = true, from.plan.Key, from.plan.Latest
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
	if from.Version > 0 {
		old, err := b.Plan(ctx, from.Plan)
		if err != nil {
			return err
		}
		before, err := b.VersionByNumber(ctx, old.ID, from.Version)
		if err != nil {
			return err
		}
		after, err := b.VersionByNumber(ctx, plan.ID, plan.Version)
		if err != nil {
			return err
		}
		d = plandiff.Versions(before, after)
	}
	if c.json {
		return c.Print(map[string]any{"draft": next, "plan": plan, "added": d.Added, "removed": d.Removed, "lines": diffLines(d)})
	}
	c.showPlan(next, plan)
	for _, l := range d.Lines {
		c.Printf("%s%s\n", l.Sign, l.Text)
	}
	c.Errorf("draft %s; kairos drafts accept %s takes it into use\n", next.ID, next.ID)
	return nil
}

func (c draftCommands) draftStart() *cobra.Command {
	var r domain.DraftStart
	detach := false
	cmd := &cobra.Command{
		Use: "start DRAFT", Short: "Start a run of exactly what was drafted", Args: cobra.ExactArgs(1),
		Long: `Starts a run of the plan of a draft, with its intent as input, and follows it. The
draft is accepted with that, but for one that was made of a plan in use: it stays a
draft, unless --accept says that it takes the place of the current version.`,
		Example: "  kairos drafts start plan-4f1c\n  kairos drafts start plan-4f1c --accept --detach",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				if err := canDetach(b, detach); err != nil {
					return err
				}
				d, err := findDraft(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if d.plan != nil {
					return domain.Errorf(domain.CodeConflict, "%s was asked for by a program: its input is not known", d.plan.Key).Suggest("kairos start %s --prompt TEXT", d.plan.Key)
				}
				run, err := b.RunDraft(cmd.Context(), d.ID, r)
				if err != nil {
					return err
				}
				if detach {
					if c.json {
						return c.Print(domain.ViewRun(run))
					}
					c.Printf("%s\n", run.ID)
					return nil
				}
				return c.follow(cmd.Context(), b, run)
			})
		},
	}
	cmd.Flags().BoolVar(&r.Accept, "accept", false, "also with steps that cannot be repeated, or in the place of a version in use")
	cmd.Flags().StringVar(&r.Session, "session", "", "session for memory (default: the run's id)")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why, for the audit log")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the end of it (with a daemon)")
	return cmd
}

func (c draftCommands) draftTry() *cobra.Command {
	var prompt, input string
	cmd := &cobra.Command{
		Use: "try DRAFT", Short: "Run a draft dry", Args: cobra.ExactArgs(1),
		Long:    "Walks a draft as \"kairos try\" does with a file: steps that compute or only read run, the others are only shown. The draft stays a draft.",
		Example: "  kairos drafts try plan-4f1c --prompt \"a post about tea\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := c.input(cmd, prompt, input)
			if err != nil {
				return err
			}
			return c.with(cmd, func(b *client.Client) error {
				d, err := findDraft(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				plan, hash := d.Plan, d.Hash
				if d.plan != nil {
					plan, hash = d.plan.ID, d.plan.LatestHash
				}
				if hash == "" {
					return domain.Errorf(domain.CodeConflict, "the draft has no plan: it is %s", d.State)
				}
				r, err := b.Start(cmd.Context(), domain.StartRequest{Plan: plan, Hash: hash, Input: value, Origin: "ask", Dry: true, Labels: map[string]string{"draft": "yes"}})
				if err != nil {
					return err
				}
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	cmd.Flags().StringVar(&prompt, "prompt", "", "the input as text")
	cmd.Flags().StringVar(&input, "input", "", "the input as JSON, or @FILE")
	cmd.MarkFlagsMutuallyExclusive("prompt", "input")
	return cmd
}
