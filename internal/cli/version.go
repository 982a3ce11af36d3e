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
	// Modules are those that are built in, with the checksums that go.sum has of them
	// (S30).
	Modules []module `json:"modules,omitempty"`
}

// module is code by others that is built in.
type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum"`
}

// builtIn lists the modules of this binary.
func builtIn() []module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	out := make([]module, 0, len(info.Deps))
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		out = append(out, module{d.Path, d.Version, d.Sum})
	}
	return out
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
	var modules, sbom bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print versions", Args: cobra.NoArgs,
		Long: `Prints the version and commit of this binary, the schema it works with, and the
versions of SQLite and Go in it. With --modules also every module by others that is
built in, with its version and its checksum as go.sum has it. With --sbom only that,
as a bill of materials in the form of CycloneDX, which scanners read.`,
		Example: "  kairos version --json\n  kairosd version --modules --json\n  kairosd version --sbom > kairosd.cdx.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if sbom {
				return s.print(materials(cmd.Root().Name(), b, builtIn()))
			}
			if modules {
				b.Modules = builtIn()
			}
			if f := cmd.Flag("json"); f != nil && f.Value.String() == "true" {
				return s.print(b)
			}
			s.printf("version %s (commit %s)\nschema %d\nSQLite %s\n%s\n", b.Version, b.Commit, b.Schema, b.SQLite, b.Go)
			for _, m := range b.Modules {
				s.printf("%s %s %s\n", m.Path, m.Version, m.Sum)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&sbom, "sbom", false, "print the bill of materials, as CycloneDX")
	cmd.Flags().BoolVar(&modules, "modules", false, "list the modules by others that are built in, with their checksums")
	return cmd
}
