package command

import (
	"cmp"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/daemon"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/temporal/internal/connect"
	"github.com/kairosd/kairosd/temporal/internal/control"
)

func (p *program) serve() *cobra.Command {
	o := daemon.Options{Env: os.Getenv, Out: p.out, Err: p.errs, Remote: p.remote}
	data := cmp.Or(os.Getenv("KAIROSD_DATA"), cli.OS().DataDirectory())
	cmd := &cobra.Command{Use: "serve", Short: "Serve the dashboard and the API of runs", Args: cobra.NoArgs,
		Long: `Starts kairosd, whose runs the workers of Temporal execute. It stores plans and the
record of all runs, and serves the dashboard and the API. Local commands of kairos
and kairosd use its data directory, as with kairosd serve.

It connects to the server in the section engine.temporal of the configuration, or
as --address, --namespace, and --queue require. It starts while the server is
unreachable. New runs and actions then wait or fail.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Dir, o.ConfigFile = datadir.Dir(data), p.config
			return daemon.Serve(cmd.Context(), o)
		}}
	f := cmd.Flags()
	f.StringVar(&data, "data", data, "data directory (default $KAIROSD_DATA, else kairos in your data directory)")
	f.StringVar(&o.Listen, "listen", "",
		"address and port, or unix:/path/of/a/socket (default: server.listen, else "+daemon.DefaultListen+")")
	f.BoolVar(&o.Examples, "examples", false, "load the example plans; without --config, also scripted answers and files for them")
	f.BoolVar(&o.Safe, "safe", false, "start in safe mode: no new run starts")
	f.IntVar(&o.CrashLoop, "crash-loop", daemon.DefaultCrashLoop, "start in safe mode after this many early crashes in a row; 0: never")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "log every step")
	cli.PlainDefaults(f, "data")
	return cmd
}

// remote returns the control plane of a configuration.
func (p *program) remote(cfg config.Config, log *slog.Logger) (daemon.Remote, error) {
	server, queue, err := p.settings(cfg)
	if err != nil {
		return nil, err
	}
	values, err := server.Converter()
	if err != nil {
		return nil, err
	}
	c, err := connect.Lazy(server, log)
	if err != nil {
		return nil, err
	}
	return control.New(control.Options{Client: c, Converter: values, Queue: queue, LostAfter: cfg.Engine.Temporal.LostAfter,
		UI: cfg.Engine.Temporal.UI, Namespace: server.Namespace, Log: log}), nil
}

// settings returns the server and the queue: those of the flags, of the configuration, of the environment, or the
// defaults.
func (p *program) settings(cfg config.Config) (connect.Server, string, error) {
	t := cfg.Engine.Temporal
	t.Plaintext = t.Plaintext || p.plaintext
	keys, err := t.PayloadKeys()
	if err != nil {
		return connect.Server{}, "", err
	}
	apiKey, err := t.APIKey()
	if err != nil {
		return connect.Server{}, "", err
	}
	encrypted, err := t.TLS.Config()
	return connect.Server{
		Address:   cmp.Or(p.conn.Address, t.Address, os.Getenv("TEMPORAL_ADDRESS"), "127.0.0.1:7233"),
		Namespace: cmp.Or(p.conn.Namespace, t.Namespace, os.Getenv("TEMPORAL_NAMESPACE"), "default"),
		Secrets:   keys,
		TLS:       encrypted,
		APIKey:    apiKey,
	}, cmp.Or(p.queue, t.Queue, DefaultQueue), err
}
