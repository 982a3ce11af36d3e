package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// files are the plans in files.
type files struct {
	byHash map[string]domain.Version
	byKey  map[string]string
}

// readFiles reads plans, and the plan files that their steps name. It returns the hash of the first one.
func readFiles(paths []string) (f files, first string, err error) {
	f = files{map[string]domain.Version{}, map[string]string{}}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			return f, "", err
		}
		linked, problems := command.LinkPlanFiles(path, src)
		if problems.Err() != nil {
			return f, "", domain.Errorf(domain.CodeInvalid, "%w", problems.Err())
		}
		hash := ""
		for _, file := range linked.Files { // the plan itself is the last one
			doc, problems := planner.Parse(file.Linked, planner.WithFormat(file.Format))
			if doc == nil || problems.Err() != nil {
				return f, "", domain.Errorf(domain.CodeInvalid, "%s: %w", linked.Path(file.Path), problems.Err())
			}
			hash = doc.Hash
			f.byHash[hash] = domain.Version{PlanID: doc.ID, PlanKey: doc.ID, Number: 1, Hash: hash, Semantics: walk.Semantics,
				Kind: string(doc.Kind()), Format: string(doc.Format), Source: doc.Source, ByPerson: true}
			f.byKey[doc.ID] = hash
		}
		first = cmp.Or(first, hash)
	}
	return f, first, nil
}

func (f files) Resolve(_ context.Context, name string) (string, error) {
	if hash := f.byKey[name]; hash != "" {
		return hash, nil
	}
	return "", domain.Errorf(domain.CodeNotFound, "no plan %s in the given files", name).Suggest("pass its file with --with")
}

func (f files) VersionByHash(_ context.Context, hash string) (domain.Version, error) {
	if v, ok := f.byHash[hash]; ok {
		return v, nil
	}
	return domain.Version{}, domain.Errorf(domain.CodeNotFound, "no version %s", hash)
}

// person returns the operator: the user of the operating system.
func person() domain.Actor {
	name := "cli"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = "cli:" + u.Username
	}
	return domain.Actor{Name: name, Role: domain.RoleAdmin, Source: "cli"}
}

// quarantineAfter is the number of lost workers during one step after which its run is quarantined.
const quarantineAfter = 3

func (p *program) run() *cobra.Command {
	var input, profile string
	var with []string
	var limits domain.Limits
	var dry, detach bool
	lost := 30 * time.Second
	cmd := &cobra.Command{Use: "run FILE", Short: "Run a plan and wait for its result", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			plans, hash, err := readFiles(append([]string{args[0]}, with...))
			if err != nil {
				return err
			}
			if input != "" && !json.Valid([]byte(input)) {
				return domain.Errorf(domain.CodeInvalid, "--input is not JSON")
			}
			in, err := launch.Input(cmd.Context(), plans, &driver.Programs{}, launch.Request{Hash: hash, Profile: profile,
				Input: domain.RawJSON(input), Actor: person().Name, Origin: "cli", Limits: limits, Dry: dry, Now: time.Now(),
				Key: newKey(), LostAfter: lost, Options: runstate.Options{QuarantineAfter: quarantineAfter}})
			if err != nil {
				return err
			}
			return p.connected(cmd, func(c client.Client, _ config.Config, queue string) error {
				o := client.StartWorkflowOptions{ID: in.Run.ID, TaskQueue: wire.RunsOf(queue, in.Driver)}
				if _, err := c.ExecuteWorkflow(cmd.Context(), o, wire.RunWorkflow, in); err != nil {
					return err
				}
				if detach {
					return p.print(viewOf(in.Run))
				}
				return p.await(cmd.Context(), c, in.Run.ID)
			})
		}}
	f := cmd.Flags()
	f.StringVar(&profile, "profile", "", "profile of the plan")
	f.StringVar(&input, "input", "", "input of the run as JSON")
	f.StringSliceVar(&with, "with", nil, "files of sub-plans")
	f.Int64Var(&limits.MaxSteps, "max-steps", 0, "limit of settled steps")
	f.DurationVar(&limits.MaxDuration, "max-duration", 0, "limit of the running time")
	f.DurationVar(&lost, "lost-after", lost, "time after which a worker that does not respond counts as lost")
	f.BoolVar(&dry, "dry-run", false, "call no step that changes something")
	f.BoolVar(&detach, "detach", false, "print the run and do not wait")
	return cmd
}

// newKey returns the key of a run, from which its idempotency keys are derived.
func newKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

// pollPause is the time between two looks at a run that may wait for a person.
const pollPause = time.Second

// await waits until a run has ended or waits for a person, and prints it.
func (p *program) await(ctx context.Context, c client.Client, id string) error {
	end := make(chan error, 1)
	var run domain.Run
	go func() { end <- c.GetWorkflow(ctx, id, "").Get(ctx, &run) }()
	tick := time.NewTicker(pollPause)
	defer tick.Stop()
	for {
		select {
		case err := <-end:
			if err != nil {
				return err
			}
			return errors.Join(p.print(viewOf(run)), ended(run))
		case <-tick.C:
			now, err := current(ctx, c, id)
			if err != nil || now.Status != domain.RunWaiting || !now.WaitReason.NeedsPerson() {
				continue // no worker answers now, or it works
			}
			view, err := p.view(ctx, c, id, false)
			if err != nil {
				continue
			}
			return errors.Join(p.print(view), ended(now))
		}
	}
}

// query reads a value of a run. It works also after the end of the run, within the retention of the server.
func query[T any](ctx context.Context, c client.Client, id, name string) (out T, err error) {
	v, err := c.QueryWorkflow(ctx, id, "", name)
	if err != nil {
		return out, err
	}
	return out, v.Get(&out)
}

func current(ctx context.Context, c client.Client, id string) (domain.Run, error) {
	return query[domain.Run](ctx, c, id, wire.RunQuery)
}

func (p *program) view(ctx context.Context, c client.Client, id string, journal bool) (view runView, err error) {
	run, err := current(ctx, c, id)
	if err != nil {
		return view, err
	}
	view = viewOf(run)
	open, err := query[[]domain.Approval](ctx, c, id, wire.ApprovalsQuery)
	if err != nil {
		return view, err
	}
	for _, a := range open {
		view.Approvals = append(view.Approvals, approvalView{a.ID, a.Node, a.Message, a.Tool, a.Arguments, a.Digest, a.Answers()})
	}
	if journal {
		view.Journal, err = query[[]domain.Entry](ctx, c, id, wire.JournalQuery)
	}
	return view, err
}

func (p *program) show() *cobra.Command {
	journal := false
	cmd := &cobra.Command{Use: "show RUN", Short: "Show a run", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.connected(cmd, func(c client.Client, _ config.Config, _ string) error {
				view, err := p.view(cmd.Context(), c, args[0], journal)
				if err != nil {
					return err
				}
				return p.print(view)
			})
		}}
	cmd.Flags().BoolVar(&journal, "journal", false, "print the journal, too")
	return cmd
}

func (p *program) history() *cobra.Command {
	return &cobra.Command{Use: "history RUN", Short: "Print the history of a run as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.connected(cmd, func(c client.Client, _ config.Config, _ string) error {
				var h history.History
				all := c.GetWorkflowHistory(cmd.Context(), args[0], "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
				for all.HasNext() {
					e, err := all.Next()
					if err != nil {
						return err
					}
					h.Events = append(h.Events, e)
				}
				raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(&h)
				if err != nil {
					return err
				}
				_, err = p.out.Write(append(raw, '\n'))
				return err
			})
		}}
}

// update sends an update to a run, and prints the run after it.
func (p *program) update(cmd *cobra.Command, id, name string, arg any) error {
	return p.connected(cmd, func(c client.Client, _ config.Config, _ string) error {
		u, err := c.UpdateWorkflow(cmd.Context(), client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name, Args: []any{arg},
			WaitForStage: client.WorkflowUpdateStageCompleted})
		var run domain.Run
		if err == nil {
			err = u.Get(cmd.Context(), &run)
		}
		if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
			return domain.Errorf(domain.Code(refused.Type()), "%s", refused.Message())
		}
		if err != nil {
			return err
		}
		return p.print(viewOf(run))
	})
}

func (p *program) act(name, short string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: name + " RUN", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.update(cmd, args[0], wire.ActUpdate, wire.Action{Actor: person(),
				Request: domain.ActionRequest{Run: args[0], Action: domain.Action(name), Reason: reason}})
		}}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the record")
	return cmd
}

func (p *program) approve() *cobra.Command {
	var d domain.DecideRequest
	reject, values := false, ""
	cmd := &cobra.Command{Use: "approve RUN APPROVAL", Short: "Answer an approval request", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Approve, d.Values = !reject && d.Answer == "", domain.RawJSON(values)
			return p.update(cmd, args[0], wire.DecideUpdate, wire.Decision{Actor: person(), Approval: args[1], Request: d})
		}}
	f := cmd.Flags()
	f.BoolVar(&reject, "reject", false, "reject the request")
	f.StringVar(&d.Answer, "answer", "", "ID of another answer of the request")
	f.StringVar(&d.Digest, "digest", "", "digest of the request that you have read")
	f.StringVar(&d.Comment, "comment", "", "comment for the record")
	f.StringVar(&values, "values", "", "values of the form as JSON")
	return cmd
}

func (p *program) resolve() *cobra.Command {
	r := domain.ResolveRequest{Item: runstate.NoItem}
	output := ""
	cmd := &cobra.Command{Use: "resolve RUN STEP happened|retry|skip|fail", Short: "Resolve an in-doubt step", Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Action, r.Output = args[2], domain.RawJSON(output)
			return p.update(cmd, args[0], wire.ResolveUpdate, wire.Resolution{Actor: person(), Node: args[1], Request: r})
		}}
	f := cmd.Flags()
	f.IntVar(&r.Visit, "visit", 1, "iteration of the step")
	f.IntVar(&r.Item, "item", runstate.NoItem, "index of the item in a foreach")
	f.StringVar(&output, "output", "", "output of a step that happened, as JSON")
	f.StringVar(&r.Reason, "reason", "", "reason for the record")
	return cmd
}
