package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
)

// PlanFiles is a plan file with the files that its steps name.
type PlanFiles struct {
	// Files are linked; the plan itself is the last one. It is the only one if it names no files.
	Files []planfile.File
	dir   string
}

// Root returns the plan itself.
func (f PlanFiles) Root() planfile.File { return f.Files[len(f.Files)-1] }

// Several reports whether the plan names other files.
func (f PlanFiles) Several() bool { return len(f.Files) > 1 }

// Request returns the files as the API receives them.
func (f PlanFiles) Request() apitypes.PlanFiles {
	r := apitypes.PlanFiles{Root: f.Root().Path, Files: map[string]string{}}
	for _, file := range f.Files {
		r.Files[file.Path] = string(file.Source)
	}
	return r
}

// Path returns the path of a file as the user would write it.
func (f PlanFiles) Path(file string) string { return filepath.Join(f.dir, filepath.FromSlash(file)) }

// Located returns problems with such paths.
func (f PlanFiles) Located(problems planner.Problems) planner.Problems {
	for i := range problems {
		if problems[i].File != "" {
			problems[i].File = f.Path(problems[i].File)
		}
	}
	return problems
}

// ReadPlanFiles reads a plan file and the files that it names, below the directory of the first one. If they cannot
// be read together, it returns the problems.
func (c *Program) ReadPlanFiles(name string) (PlanFiles, planner.Problems, error) {
	src, _, err := c.ReadPlan(name)
	if err != nil {
		return PlanFiles{}, nil, err
	}
	f, problems := LinkPlanFiles(name, src)
	return f, problems, nil
}

// LinkPlanFiles reads the files that a plan file with a content names, below its directory. If they cannot be read
// together, it returns the problems.
func LinkPlanFiles(name string, src []byte) (PlanFiles, planner.Problems) {
	f := PlanFiles{dir: filepath.Dir(name)}
	first := filepath.Base(name)
	var problems planner.Problems
	f.Files, problems = planfile.Link(first, planfile.Options{Read: func(path string) ([]byte, error) {
		if path == first {
			return src, nil
		}
		return readBelow(f.dir, path)
	}})
	return f, f.Located(problems)
}

// readBelow reads a plan file in a directory. A symbolic link to a file outside the directory is an error.
func readBelow(dir, path string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	switch info, err := root.Stat(filepath.FromSlash(path)); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // reading a pipe could block
		return nil, errors.New("it is not a regular file")
	}
	file, err := root.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, planner.MaxDocument+1))
}
