package kairos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/importer"
)

func (c planCommands) importCommand() *cobra.Command {
	var directory string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Convert a workflow of another system", Args: cobra.ExactArgs(1),
		Long: `Writes a plan to start from. FILE is a workflow of GitHub Actions or Dagu, a graph of
LangGraph as JSON, or a crontab, which becomes a plan for each line. What has no
counterpart becomes a step that fails with a message, so that nothing is left out in
silence. The notes name the lines. Shell commands call the tool exec, which the
configuration must allow. The plans are printed, or written to a directory.`,
		Example: "  kairos plans import .github/workflows/ci.yml > ci.yaml\n  kairos plans import jobs --output plans",
		RunE: func(_ *cobra.Command, args []string) error {
			source, _, err := c.ReadPlan(args[0])
			if err != nil {
				return err
			}
			format, plans, err := importer.Import(args[0], source)
			if err != nil {
				return err
			}
			return c.imported(args[0], format, directory, plans)
		},
	}
	cmd.Flags().StringVar(&directory, "output", "", "directory to write the plans to, as ID.yaml")
	return cmd
}

// imported prints imported plans, or writes them to a directory. Notes go to the standard error.
func (c planCommands) imported(file, format, directory string, plans []importer.Plan) error {
	if directory == "" && len(plans) > 1 && !c.JSON {
		return exit.Usage("%s has %d plans\n  write them to a directory: kairos plans import %s --output DIR", file, len(plans), file)
	}
	type document struct {
		importer.Plan
		File     string `json:"file,omitempty"`
		Document string `json:"document"`
	}
	var out []document
	for _, p := range plans {
		d := document{Plan: p, Document: string(p.Source)}
		for _, n := range p.Notes {
			c.Errorf("%s:%d: %s\n", file, n.Line, n.Text)
		}
		if directory != "" {
			d.File = filepath.Join(directory, p.ID+".yaml")
			if err := writeNew(d.File, p.Source); err != nil {
				return err
			}
			if !c.JSON {
				c.Printf("%s: a plan of a %s, %s not carried over\n", d.File, format, command.Counted(len(p.Notes), "place"))
			}
		} else if !c.JSON {
			c.Printf("%s", p.Source)
		}
		out = append(out, d)
	}
	if c.JSON {
		return c.Print(map[string]any{"format": format, "plans": out})
	}
	return nil
}

// writeNew writes a file that does not exist yet, and creates its directory.
func writeNew(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // plans are no secrets
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // as above
	if errors.Is(err, fs.ErrExist) {
		return exit.Usage("%s exists already\n  choose another directory, or remove the file", path)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
