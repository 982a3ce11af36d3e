package kairosd

import (
	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/daemon"
)

func (d *program) serveCommand() *cobra.Command {
	o := daemon.Options{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Start the server", Args: cobra.NoArgs, SuggestFor: []string{"daemon", "run", "server", "start"},
		Long: `Opens the database in --data, continues every unfinished run, and serves the
dashboard and the API. When it is ready, it prints its URL. On the first start, it
also prints a link that creates the first user.

It listens on loopback unless the configuration has server.tls_cert and
server.tls_key, or server.trusted_proxies. With unix:/path, it listens on a Unix
socket with the mode server.socket_mode. Local commands use a socket in the data
directory. On SIGTERM, active steps have 20 seconds to finish. The next start
continues the others. A second signal stops the server immediately.

On SIGHUP it applies a changed configuration without a restart. If the configuration
has an error, nothing changes. Active steps keep their settings. It also reads the
certificate and the files of secrets again. server.listen, server.hosts,
server.trusted_proxies, enabling TLS, and telemetry take effect after a restart. The
log and the page System list such settings.

With --safe, no step starts. You can read everything and cancel runs. Safe mode also
starts automatically after three starts within five minutes that each crashed
within 30 seconds.`,
		Example: "  kairosd serve\n  kairosd serve --data /var/lib/kairos --listen 127.0.0.1:9000 --config kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.Interactive && !d.quiet {
				d.Errorf("kairosd is starting with the data in %s. The log follows as JSON lines.\n", d.data)
			}
			o.Dir, o.ConfigFile, o.Open, o.Env, o.Out, o.Err = d.dir(), d.config, d.open, d.Env, d.Out, d.Err
			return daemon.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "",
		"address and port, or unix:/path/of/a/socket (default: server.listen, else "+daemon.DefaultListen+")")
	cmd.Flags().
		BoolVar(&o.Examples, "examples", false, "load the example plans; without --config, also scripted answers and files for them")
	cmd.Flags().BoolVar(&o.Safe, "safe", false, "start in safe mode: no step starts")
	cmd.Flags().IntVar(&o.CrashLoop, "crash-loop", daemon.DefaultCrashLoop,
		"start in safe mode after this many early crashes in a row; 0: never")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "log every step")
	return cmd
}
