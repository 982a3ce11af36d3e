package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Input returns the input of a run from the flags.
func (c *Program) Input(cmd *cobra.Command, prompt, input string) (domain.RawJSON, error) {
	if cmd.Flags().Changed("prompt") {
		b, err := json.Marshal(prompt)
		return b, err
	}
	if !cmd.Flags().Changed("input") {
		return nil, nil
	}
	return c.JSONArgument("--input", input)
}

// JSONArgument reads a JSON value from the text, or with @FILE from a file.
func (c *Program) JSONArgument(name, text string) (domain.RawJSON, error) {
	b, what := []byte(text), name+" "+text
	advice := "\n  use JSON, such as '{\"key\": \"value\"}' or '\"text\"', or @FILE"
	if path, ok := strings.CutPrefix(text, "@"); ok {
		what, advice = name+" "+text, ""
		var err error
		if path == "-" {
			b, err = io.ReadAll(c.In)
		} else {
			b, err = os.ReadFile(path)
		}
		if err != nil {
			return nil, exit.Usage("%s: %w", name, err)
		}
	}
	v, err := jsonvalue.Decode(b)
	if err != nil {
		return nil, exit.Usage("invalid JSON in %s: %s%s", cli.Fit(what, 80), err, advice)
	}
	return jsonvalue.Encode(v)
}

// ParseLabels reads labels as KEY=VALUE.
func ParseLabels(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, l := range list {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" {
			return nil, exit.Usage("invalid label %q\n  use KEY=VALUE", l)
		}
		m[k] = v
	}
	return m, nil
}

// ReadPlan reads a plan file; - is stdin.
func (c *Program) ReadPlan(path string) ([]byte, planner.Format, error) {
	in := c.In
	if path != "-" {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, "", exit.Usage("plan file %s not found", path)
		}
		if err != nil {
			return nil, "", exit.Usage("cannot read the plan: %w", err)
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, planner.MaxDocument+1))
	switch {
	case err != nil:
		return nil, "", exit.Usage("cannot read the plan: %w", err)
	case len(bytes.TrimSpace(src)) == 0:
		return nil, "", exit.Usage("plan file %s is empty", path)
	case len(src) > planner.MaxDocument:
		return nil, "", exit.Usage("%s is larger than %d bytes\n  split the plan, or move data into its input", path, planner.MaxDocument)
	}
	return src, planner.FormatOf(path, src), nil
}

// ListFlags are the flags of lists with pages.
type ListFlags struct {
	limit  int
	cursor string
}

// Add adds the flags to a command, which refuses a limit out of range.
func (l *ListFlags) Add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&l.limit, "limit", 50, "maximum number of items, 1 to 200")
	cmd.Flags().StringVar(&l.cursor, "cursor", "", "continue a list after this position")
	cmd.PreRunE = func(*cobra.Command, []string) error { return l.Check() }
}

// Check refuses a limit out of range.
func (l *ListFlags) Check() error {
	if l.limit < 1 || l.limit > 200 {
		return exit.Usage("invalid --limit %d\n  use 1 to 200; --cursor continues a list", l.limit)
	}
	return nil
}

// Page returns the page that the flags select.
func (l *ListFlags) Page() domain.Page { return domain.Page{Limit: l.limit, After: l.cursor} }

// VersionNumber reads a version as people write it: 3 or v3.
func VersionNumber(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(text, "v"))
	if err != nil || n < 1 {
		return 0, exit.Usage("invalid version %q\n  use a number, such as 3 or v3", text)
	}
	return n, nil
}

// IsFile reports whether a name is that of a plan file: it contains a slash, ends in
// .yaml, .yml, or .json, or is "-". Other names are stored plans.
func IsFile(name string) bool {
	return name == "-" || strings.ContainsAny(name, "/\\") || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// StoredName parses PLAN or PLAN@VERSION. Version 0 is the newest.
func StoredName(name string) (key string, version int, err error) {
	key, number, versioned := strings.Cut(name, "@")
	if versioned {
		version, err = VersionNumber(number)
	}
	return key, version, err
}
