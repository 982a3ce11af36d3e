package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/store"
)

// Version is set when a release is built:
// -ldflags "-X github.com/kairosd/kairosd/internal/cli.Version=1.2.3".
var Version = "dev"

// build is what a binary says of itself.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Schema  int64  `json:"schema"`
	SQLite  string `json:"sqlite"`
	Go      string `json:"go"`
}

func thisBuild() build {
	b := build{Version: Version, Commit: "unknown", Schema: store.SchemaVersion(), SQLite: store.SQLiteVersion(), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return b
}

func versionCommand(s Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print versions", Args: cobra.NoArgs,
		Long:    "Prints the version and commit of this binary, the schema it works with, and the versions of SQLite and Go in it.",
		Example: "  kairos version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if f := cmd.Flag("json"); f != nil && f.Value.String() == "true" || asJSON {
				return s.print(b)
			}
			s.printf("version %s (commit %s)\nschema %d\nSQLite %s\n%s\n", b.Version, b.Commit, b.Schema, b.SQLite, b.Go)
			return nil
		},
	}
	return cmd
}
