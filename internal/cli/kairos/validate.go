package kairos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
	"github.com/kairosd/kairosd/planner/walk"
)

// validated is the result of validate for one file.
type validated struct {
	File     string           `json:"file"`
	Hash     string           `json:"hash"`
	Problems planner.Problems `json:"problems"`
	// Effects are the side-effect classes of the steps, by step.
	Effects map[string]walk.Effect `json:"effects,omitempty"`
	Steps   []domain.StepSettings  `json:"steps,omitempty"`
}

// attempts describes the attempts of a step, also those after failures with certain codes.
func attempts(s domain.StepSettings) string {
	text := retries(s.Retries)
	for _, r := range s.Rules {
		text += fmt.Sprintf("; %s: %s", cmp.Or(strings.Join(r.Codes, ", "), "other errors"), retries(r.Retries))
	}
	return text
}

// retries describes a number of attempts and the waits between them.
func retries(r domain.Retries) string {
	text := strconv.Itoa(r.MaxAttempts)
	if r.Backoff != "" {
		text += fmt.Sprintf(" (waits %s)", r.Backoff)
	}
	return text
}

// valid prints that a file is valid, with a table of its steps.
func (c checkCommands) valid(file, plan, hash string, steps []domain.StepSettings) {
	c.Printf("%s: valid, plan %s, %s, hash %s\n", file, plan, command.Counted(len(steps), "step"), hash[:12])
	rows := make([][]string, len(steps))
	for i, s := range steps {
		effect, timeout := string(s.Effect), "none"
		if s.Effect == walk.EffectControl {
			effect = "waits"
		}
		if s.Timeout > 0 {
			timeout = s.Timeout.String()
		}
		rows[i] = []string{s.ID, s.Type, effect, attempts(s), timeout}
	}
	c.Table([]string{"STEP", "TYPE", "EFFECT", "ATTEMPTS", "TIMEOUT"}, rows)
}

// effects returns the side-effect classes of steps, by step.
func effects(steps []domain.StepSettings) map[string]walk.Effect {
	out := map[string]walk.Effect{}
	for _, s := range steps {
		out[s.ID] = s.Effect
	}
	return out
}

func (c checkCommands) validateCommand() *cobra.Command {
	profile := ""
	cmd := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Check plan files",
		Long: `Checks plan files and reports all problems with line and column. It prints
the side-effect class of each step (pure, read, idempotent, or unsafe), its number
of attempts with the waits between them, and the timeout of one attempt. Tools and agents
are those of the configuration (--config) or, with --server, of the server.

A plan is also checked with each of its profiles. --profile prints the steps with one.
Files that a plan names, such as "plan: ./other.yaml", are checked with it.`,
		Example: "  kairos validate plan.yaml\n  kairos validate plans/*.yaml --json\n  kairos validate plan.yaml --profile prod",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usage("missing argument FILE\n  usage: kairos validate FILE…")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var files []validated
			check, catalog, err := c.checker(cmd.Context(), profile)
			if err != nil {
				return err
			}
			if problems := catalog.Check(); len(problems) > 0 {
				files = append(files, validated{File: c.Config, Problems: problems})
				if !c.JSON {
					c.problems(c.Config, problems)
				}
			}
			for _, file := range args {
				v, err := check(file)
				if err != nil {
					return err
				}
				files = append(files, v...)
			}
			return c.printValidated(files)
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "print the steps with this profile of the plan")
	return cmd
}

// printValidated prints the files with --json, and fails if one is invalid.
func (c checkCommands) printValidated(files []validated) error {
	if c.JSON {
		if err := c.Print(map[string]any{"files": files}); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(files, func(v validated) bool { return v.Problems.Err() != nil }) {
		return &exit.Status{Code: exit.BadUsage}
	}
	return nil
}

// catalog returns the tools and agents of the configuration, for validation.
func (c checkCommands) catalog(ctx context.Context) (*planner.Catalog, error) {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return nil, err
	}
	_, registry, err := assemble.Offers(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return registry.Catalog(), nil
}

// checker returns a function that checks one file, and the files that it names, against the tools and agents of the
// server or of the configuration. It returns the catalog of the configuration, too.
func (c checkCommands) checker(ctx context.Context, profile string) (
	check func(file string) ([]validated, error), catalog *planner.Catalog, err error) {
	if c.Server == "" {
		if catalog, err = c.catalog(ctx); err != nil {
			return nil, nil, err
		}
		return func(file string) ([]validated, error) {
			return c.validate(file, func(files command.PlanFiles) ([]apitypes.CheckedFile, error) {
				return checkFiles(files, profile, catalog)
			})
		}, catalog, nil
	}
	server, err := c.Remote()
	if err != nil {
		return nil, nil, err
	}
	return func(file string) ([]validated, error) {
		return c.validate(file, func(files command.PlanFiles) ([]apitypes.CheckedFile, error) {
			if files.Several() {
				return server.CheckPlanFiles(ctx, files.Request(), profile)
			}
			root := files.Root()
			got, err := server.CheckPlan(ctx, root.Source, root.Format, profile)
			return []apitypes.CheckedFile{{File: root.Path, PlanCheck: got}}, err
		})
	}, &planner.Catalog{}, nil
}

// validate checks a file and those that it names, and prints the result of each.
func (c checkCommands) validate(file string, check func(command.PlanFiles) ([]apitypes.CheckedFile, error)) ([]validated, error) {
	files, problems, err := c.ReadPlanFiles(file)
	if err != nil {
		return nil, err
	}
	if problems.Err() != nil {
		if !c.JSON {
			c.problems(file, problems)
		}
		return []validated{{File: file, Problems: problems}}, nil
	}
	checked, err := check(files)
	var out []validated
	for _, got := range checked {
		name := file
		if files.Several() {
			name = files.Path(got.File)
		}
		v := validated{File: name, Hash: got.Hash, Problems: files.Located(got.Problems)}
		if got.Valid {
			v.Effects, v.Steps = effects(got.Steps), got.Steps
		}
		out = append(out, v)
		if !c.JSON {
			c.problems(name, v.Problems)
			if got.Valid && (err == nil || len(got.Steps) > 0) {
				c.valid(name, got.Key, got.Hash, got.Steps)
			}
		}
	}
	return out, err
}

// checkFiles checks files against a catalog. Of the steps of files that another one names, it returns those with
// the profile only if the plan declares it.
func checkFiles(files command.PlanFiles, profile string, catalog *planner.Catalog) (out []apitypes.CheckedFile, err error) {
	for i, f := range planfile.Check(catalog, files.Files) {
		got := apitypes.CheckedFile{File: f.Path, PlanCheck: apitypes.PlanCheck{Problems: f.Problems}}
		if !files.Several() {
			for i := range f.Problems {
				f.Problems[i].File = ""
			}
		}
		if f.Doc != nil {
			got.Key, got.Hash = f.Doc.ID, f.Doc.Hash
		}
		if f.Doc != nil && f.Problems.Err() == nil {
			d := f.Doc
			if profile != "" {
				if with := d.With(profile); with != nil {
					d = with
				} else if i == len(files.Files)-1 {
					return append(out, got), domain.ProfileError(profile, d.Profiles)
				}
			}
			p, err := d.Program(catalog)
			if err != nil {
				return append(out, got), err
			}
			got.Valid, got.Steps = true, domain.StepSettingsOf(p, catalog.EffectOf)
		}
		out = append(out, got)
	}
	return out, nil
}
