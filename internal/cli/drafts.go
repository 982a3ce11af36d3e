package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/plandiff"
)

// draftsCommand looks after plans that a planner made and nobody has accepted.
func (c *app) draftsCommand() *cobra.Command {
	var l listFlags
	cmd := &cobra.Command{
		Use: "drafts", Short: "List, show, refine, try, accept and discard drafts of plans", Args: cobra.NoArgs,
		Long: `Lists the plans that a planner made of an intent ("kairos ask --plan-only") and that
nobody has accepted or started yet. DRAFT is a plan's key or id. A draft is started
by "kairos start DRAFT".`,
		Example: "  kairos drafts\n  kairos drafts show plan-4f1c\n  kairos drafts refine plan-4f1c \"write a post about tea, with a summary and tags\"\n" +
			"  kairos drafts accept plan-4f1c --reason \"for the newsletter\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.listPlans(cmd, kairos.PlanFilter{Stage: string(kairos.StageDraft), Page: l.page()}, "no draft waits")
		},
	}
	l.add(cmd)
	var reason string
	act := func(use, short, long string, do func(cmd *cobra.Command, b backend, p kairos.Plan) error) *cobra.Command {
		sub := &cobra.Command{
			Use: use + " DRAFT", Short: short, Args: cobra.ExactArgs(1), Long: long, Example: "  kairos drafts " + use + " plan-4f1c",
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.with(cmd, func(b backend) error {
					p, err := c.draft(cmd, b, args[0])
					if err != nil {
						return err
					}
					return do(cmd, b, p)
				})
			},
		}
		sub.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
		return sub
	}
	accept := act("accept", "Take a draft into use", "Takes a draft into use: from now on it is a plan like those that people wrote.", func(cmd *cobra.Command, b backend, p kairos.Plan) error {
		p, err := b.AcceptPlan(cmd.Context(), c.actor(), p.ID, reason)
		if err != nil {
			return err
		}
		return c.planSaid(p, "is in use")
	})
	discard := act("discard", "Put a draft away", "Archives a draft: it is in no list any more. \"kairos plans unarchive\" brings it back.", func(cmd *cobra.Command, b backend, p kairos.Plan) error {
		if err := b.ArchivePlan(cmd.Context(), c.actor(), p.ID, true, reason); err != nil {
			return err
		}
		p.Archived = true
		return c.planSaid(p, "is put away")
	})
	cmd.AddCommand(c.draftShow(), c.draftRefine(), c.draftTry(), accept, discard)
	return cmd
}

// draft finds a plan that is a draft.
func (c *app) draft(cmd *cobra.Command, b backend, name string) (kairos.Plan, error) {
	p, err := findPlan(cmd.Context(), b, name)
	if err == nil && p.Stage != kairos.StageDraft {
		err = kairos.Errorf(kairos.CodeConflict, "%s is no draft: it is in use", p.Key).Suggest("kairos drafts lists drafts; kairos plans show %s prints this plan", p.Key)
	}
	return p, err
}

func (c *app) planSaid(p kairos.Plan, what string) error {
	if c.json {
		return c.print(viewPlan(p))
	}
	c.printf("%s %s\n", p.Key, what)
	return nil
}

func (c *app) draftShow() *cobra.Command {
	return &cobra.Command{
		Use: "show DRAFT", Short: "Show a draft: its steps and its source", Args: cobra.ExactArgs(1),
		Long:    "Prints who does what in a draft, then the draft as it was written; with --json, as \"kairos plans show\" does.",
		Example: "  kairos drafts show plan-4f1c",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				p, err := c.draft(cmd, b, args[0])
				if err != nil {
					return err
				}
				v, err := b.VersionByNumber(cmd.Context(), p.ID, p.Latest)
				if err != nil {
					return err
				}
				if !c.json {
					if v.Reason != "" {
						c.errorf("%s\n", firstLine(v.Reason))
					}
					c.showSteps(v)
				}
				return c.printVersion(p, v)
			})
		},
	}
}

func (c *app) draftRefine() *cobra.Command {
	var r kairos.AskRequest
	cmd := &cobra.Command{
		Use: "refine DRAFT TEXT…", Short: "Plan a draft anew from other words", Args: cobra.MinimumNArgs(2),
		Long: `Makes a plan of TEXT, which is the whole intent in its new words, shows it, and prints
what changed from the draft. The draft stays as it is until it is discarded.`,
		Example: "  kairos drafts refine plan-4f1c \"write a post about tea, with a summary\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				p, err := c.draft(cmd, b, args[0])
				if err != nil {
					return err
				}
				before, err := b.VersionByNumber(cmd.Context(), p.ID, p.Latest)
				if err != nil {
					return err
				}
				r.Query, r.PlanOnly, r.Fresh = strings.Join(args[1:], " "), true, true
				asked, err := b.Ask(cmd.Context(), c.actor(), r)
				if err != nil {
					return err
				}
				if asked.Plan == nil {
					return kairos.Errorf(kairos.CodeConflict, "%s would answer that without a plan", asked.Agent).Suggest("kairos ask answers it")
				}
				made, err := b.Plan(cmd.Context(), asked.Plan.Key)
				if err != nil {
					return err
				}
				after, err := b.VersionByNumber(cmd.Context(), made.ID, asked.Plan.Version)
				if err != nil {
					return err
				}
				d := plandiff.Versions(before, after)
				if c.json {
					return c.print(map[string]any{"from": viewPlan(p), "plan": asked.Plan, "added": d.Added, "removed": d.Removed, "lines": diffLines(d)})
				}
				c.showPlan(asked)
				for _, l := range d.Lines {
					c.printf("%s%s\n", l.Sign, l.Text)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&r.Agent, "agent", "", "the agent that is to answer")
	cmd.Flags().IntVar(&r.Constraints.MaxSteps, "max-steps", 0, "most steps of the plan")
	cmd.Flags().Float64Var(&r.Constraints.Budget, "budget", 0, "most tokens that the plan may use")
	return cmd
}

func (c *app) draftTry() *cobra.Command {
	var prompt, input string
	cmd := &cobra.Command{
		Use: "try DRAFT", Short: "Run a draft dry", Args: cobra.ExactArgs(1),
		Long:    "Walks a draft without touching anything outside, as \"kairos try\" does with a file. The draft stays a draft.",
		Example: "  kairos drafts try plan-4f1c --prompt \"a post about tea\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := c.input(cmd, prompt, input)
			if err != nil {
				return err
			}
			return c.with(cmd, func(b backend) error {
				p, err := c.draft(cmd, b, args[0])
				if err != nil {
					return err
				}
				r, err := b.Start(cmd.Context(), c.actor(), kairos.StartRequest{Plan: p.ID, Hash: p.LatestHash, Input: value, Origin: "ask", Dry: true, Labels: map[string]string{"draft": "yes"}})
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
