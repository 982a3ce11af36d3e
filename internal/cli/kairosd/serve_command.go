package kairosd

import (
	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/daemon"
)

func (d *program) serveCommand() *cobra.Command {
	o := daemon.Options{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Start the server", Args: cobra.NoArgs,
		Long: `Opens the database in --data, continues every unfinished run, and serves the
dashboard and the API. It prints one line with its URL when it is ready, and on
the first start a link for setting up the first user.

It listens on loopback unless the configuration has server.tls_cert and
server.tls_key, or server.trusted_proxies; or, with unix:/path, on a Unix socket
whose mode (server.socket_mode) says who may use it. Local commands reach it through a
socket in the data directory. SIGTERM lets running nodes finish for 20 seconds;
what is cut off then is continued at the next start. A second signal ends it at once.

SIGHUP takes up a changed configuration while runs go on, all of it or, where
anything in it is wrong, nothing; a node that runs keeps what it began with, the
next one has the new. The certificate and the files of secrets are read again
too. server.listen, server.hosts, server.trusted_proxies, whether there is TLS, and telemetry
take effect at the next start, which the log and the page System say by name.

With --safe it executes nothing: everything can be looked at, and runs can be
cancelled. It starts so by itself after three starts within five minutes that
each died within 30 seconds.`,
		Example: "  kairosd serve\n  kairosd serve --data /var/lib/kairos --listen 127.0.0.1:9000 --config kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Dir, o.ConfigFile, o.Open, o.Env, o.Out, o.Err = d.dir(), d.config, d.open, d.Env, d.Out, d.Err
			return daemon.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "",
		"address and port, or unix:/path/of/a/socket (default: server.listen, else "+daemon.DefaultListen+")")
	cmd.Flags().BoolVar(&o.Examples, "examples", false, "load the example plans; without --config, also scripted answers and files for them")
	cmd.Flags().BoolVar(&o.Safe, "safe", false, "execute nothing")
	cmd.Flags().IntVar(&o.CrashLoop, "crash-loop", daemon.DefaultCrashLoop,
		"execute nothing after this many early deaths in a row; 0: never mind them")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "log every step")
	return cmd
}
