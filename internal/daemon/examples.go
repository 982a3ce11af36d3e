package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"

	"github.com/kairosd/kairosd/examples"
	"github.com/kairosd/kairosd/planner"
)

// exampleConfig writes the configuration of the example plans, with their scripted answers and
// input files, next to the data directory and returns its path. It is not in the data directory,
// which tools cannot read. Existing files stay, so that you can change them.
func exampleConfig(data datadir.Dir) (string, error) {
	dir := filepath.Clean(string(data)) + "-examples"
	source := examples.Setup()
	err := fs.WalkDir(source, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return "", domain.Errorf(domain.CodeUnavailable, "cannot write the configuration of the examples: %w", err).
			Suggest("make %s writable, or start kairosd with --config", filepath.Dir(dir))
	}
	return filepath.Join(dir, "kairos.yaml"), nil
}

// loadExamples stores the plans that are part of the binary.
func (s *server) loadExamples(ctx context.Context) error {
	files, err := examples.Plans()
	if err != nil {
		return fmt.Errorf("read examples: %w", err)
	}
	for _, f := range files {
		_, _, _, problems, err := s.engine.SavePlan(
			ctx,
			domain.System,
			f.Source,
			planner.FormatOf(f.Name, f.Source),
			"example",
			"example plan of kairosd",
		)
		if err != nil {
			return fmt.Errorf("example %s: %w (%v)", f.Name, err, problems)
		}
	}
	return nil
}
