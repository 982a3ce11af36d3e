package versions

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
)

// CheckFiles validates linked files for this server without storing them.
func (r *Reader) CheckFiles(files []planfile.File) []planfile.Checked {
	return planfile.Check(r.withPlans(r.compiler().catalog()), files)
}

// ReadFiles is ReadPlan for linked files. It returns the problems of all files.
func (r *Reader) ReadFiles(files []planfile.File, origin string) ([]NewPlan, planner.Problems, error) {
	in := r.compiler()
	var all planner.Problems
	checked := planfile.Check(r.withPlans(in.catalog()), files)
	for _, f := range checked {
		all = append(all, f.Problems...)
	}
	if err := all.Err(); err != nil {
		return nil, all, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	out := make([]NewPlan, len(checked))
	for i, f := range checked {
		var err error
		if out[i], err = in.newPlan(f.Doc, origin); err != nil {
			return nil, all, err
		}
	}
	return out, all, nil
}
