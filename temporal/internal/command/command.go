// Package command contains the commands of kairos-temporal.
package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/connect"
	"github.com/kairosd/kairosd/temporal/internal/worker"
)

// program holds what the commands share.
type program struct {
	out, errs io.Writer
	conn      connect.Server
	queue     string
	config    string
	plaintext bool
}

// DefaultQueue is the task queue of runs.
const DefaultQueue = "kairosd"

// New returns the command kairos-temporal.
func New(out, errs io.Writer) *cobra.Command {
	p := &program{out: out, errs: errs}
	root := &cobra.Command{Use: "kairos-temporal", Short: "Run plans on Temporal", SilenceUsage: true, SilenceErrors: true}
	f := root.PersistentFlags()
	f.StringVar(&p.conn.Address, "address", "",
		"address of the Temporal server (default: the configuration, else $TEMPORAL_ADDRESS, else 127.0.0.1:7233)")
	f.StringVar(&p.conn.Namespace, "namespace", "",
		"namespace of the Temporal server (default: the configuration, else $TEMPORAL_NAMESPACE, else default)")
	f.StringVar(&p.queue, "queue", "", "task queue (default: the configuration, else "+DefaultQueue+")")
	f.StringVar(&p.config, "config", cmp.Or(os.Getenv("KAIROSD_CONFIG"), cli.OS().DefaultConfig()),
		"configuration file (default $KAIROSD_CONFIG, else kairos/kairos.yaml in your configuration directory)")
	f.BoolVar(&p.plaintext, "plaintext", false, "do not encrypt values on the Temporal server")
	cli.PlainDefaults(f, "config")
	root.SetOut(out)
	root.SetErr(errs)
	root.AddCommand(p.serve(), p.worker(), p.run(), p.show(), p.history(), p.approve(), p.resolve())
	for _, a := range []struct{ name, short string }{{"cancel", "Cancel a run"}, {"pause", "Pause a run"},
		{"resume", "Continue a paused or waiting run"}} {
		root.AddCommand(p.act(a.name, a.short))
	}
	return root
}

func (p *program) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(p.errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// connected runs fn with a connection to the server.
func (p *program) connected(cmd *cobra.Command, fn func(c client.Client, cfg config.Config, queue string) error) error {
	cfg, err := config.Load(p.config)
	if err != nil {
		return err
	}
	server, queue, err := p.settings(cfg)
	if err != nil {
		return err
	}
	c, err := connect.Dial(cmd.Context(), server, p.log())
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c, cfg, queue)
}

func (p *program) print(v any) error {
	e := json.NewEncoder(p.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (p *program) worker() *cobra.Command {
	grace := 10 * time.Second
	var offers []string
	var only bool
	cmd := &cobra.Command{Use: "worker", Short: "Execute runs and their steps", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range offers {
				if !walk.ValidID(name) {
					return domain.Errorf(domain.CodeInvalid, "--offer %q: use letters, digits, underscores, and dashes", name)
				}
			}
			if only && len(offers) == 0 {
				return domain.Errorf(domain.CodeInvalid, "--only needs --offer with the name of a queue")
			}
			return p.connected(cmd, func(c client.Client, cfg config.Config, queue string) error {
				server, _, err := p.settings(cfg)
				if err != nil {
					return err
				}
				values, err := server.Converter()
				if err != nil {
					return err
				}
				w, err := worker.New(cmd.Context(), c, worker.Options{Config: cfg, Queue: queue, Converter: values, Log: p.log(),
					StopGrace: grace,
					Offers:    offers, Only: only})
				if err != nil {
					return err
				}
				return w.Run(cmd.Context(), func() { fmt.Fprintf(p.out, "working on the queue %s\n", queue) })
			})
		}}
	cmd.Flags().StringSliceVar(&offers, "offer", nil, "queue that plans name with queue:, such as gpu; can be repeated")
	cmd.Flags().BoolVar(&only, "only", false, "execute no runs, and only steps of the offered queues")
	cmd.Flags().DurationVar(&grace, "grace", grace, "time that running steps have after a stop")
	return cmd
}

// runView is a run as commands print it.
type runView struct {
	ID         string            `json:"id"`
	Plan       string            `json:"plan"`
	Status     domain.RunStatus  `json:"status"`
	WaitReason domain.WaitReason `json:"waitReason,omitempty"`
	Headline   string            `json:"headline,omitempty"`
	Output     domain.RawJSON    `json:"output,omitempty"`
	Error      *domain.RunError  `json:"error,omitempty"`
	Steps      int64             `json:"steps"`
	Usage      domain.Usage      `json:"usage,omitzero"`
	Approvals  []approvalView    `json:"approvals,omitempty"`
	Journal    []domain.Entry    `json:"journal,omitempty"`
}

// approvalView is an open approval request as commands print it.
type approvalView struct {
	ID        string          `json:"id"`
	Node      string          `json:"node"`
	Message   string          `json:"message"`
	Tool      string          `json:"tool,omitempty"`
	Arguments domain.RawJSON  `json:"arguments,omitempty"`
	Digest    string          `json:"digest"`
	Answers   []domain.Answer `json:"answers"`
}

func viewOf(r domain.Run) runView {
	return runView{ID: r.ID, Plan: r.PlanKey, Status: r.Status, WaitReason: r.WaitReason, Headline: r.Headline, Output: r.Output,
		Error: r.Error, Steps: r.Steps, Usage: r.Usage}
}

// ended returns the error of a command that waited for a run, or nil.
func ended(r domain.Run) error {
	if r.Status == domain.RunCompleted {
		return nil
	}
	return domain.Errorf(domain.CodeConflict, "the run is %s: %s", r.Status, strings.TrimSpace(r.Headline))
}
