package cli

import (
	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/buildinfo"
)

func VersionCommand(s Streams) *cobra.Command {
	var modules bool
	cmd := &cobra.Command{
		Use: "version", Short: "Show version information", Args: cobra.NoArgs,
		Long: `Prints the version and commit of this binary, its database schema, and the versions of
SQLite and Go. With --modules, it also lists every third-party module with its version
and its checksum from go.sum.`,
		Example: "  kairos version --json\n  kairosd version --modules --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := buildinfo.Read()
			if modules {
				b.Modules = buildinfo.Modules()
			}
			if f := cmd.Flag("json"); f != nil && f.Value.String() == "true" {
				return s.Print(b)
			}
			s.Printf("version %s (commit %s)\nschema %d\nSQLite %s\n%s\n", b.Version, b.Commit, b.Schema, b.SQLite, b.Go)
			for _, m := range b.Modules {
				s.Printf("%s %s %s\n", m.Path, m.Version, m.Sum)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&modules, "modules", false, "list the third-party modules with their checksums")
	return cmd
}
