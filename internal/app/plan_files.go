package app

import (
	"context"
	"io/fs"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
)

// PlanTexts contains the texts of plan files that name each other.
type PlanTexts struct {
	Root  string            // path of the file that names the others
	Files map[string]string // text by path, relative to the directory of Root
}

// link replaces the names of files with plan ids.
func (t PlanTexts) link(name func(id string) string) ([]planfile.File, planner.Problems) {
	return planfile.Link(t.Root, planfile.Options{Name: name, Read: func(path string) ([]byte, error) {
		if text, ok := t.Files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}})
}

func invalidFiles(problems planner.Problems) error {
	return domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", problems.Err())
}

// CheckFiles validates plan files that name each other, without storing them. Each comes after those that it
// names. If the files cannot be linked, it returns only the problems.
//
// Errors: forbidden.
func (p *Plans) CheckFiles(ctx context.Context, by domain.Actor, t PlanTexts) ([]planfile.Checked, planner.Problems, error) {
	if err := p.allow(ctx, CheckPlanFiles, by, ""); err != nil {
		return nil, nil, err
	}
	files, problems := t.link(nil)
	if problems.Err() != nil {
		return nil, problems, nil
	}
	return p.engine.CheckFiles(files), nil, nil
}

// PlanFiles is a request to store plan files that name each other.
type PlanFiles struct {
	Meta `json:"-"`
	PlanTexts
	Origin string // source of the files: upload, cli, or try
	Reason string // kept with each new version
}

// StoredFile is the stored version of a plan file.
type StoredFile struct {
	StoredPlan
	File string
}

// StoreFiles stores plan files that name each other, in one transaction. Each comes after those that it names. In
// the stored documents, ids replace the names of files. Content that is already stored gets no new version. If it
// is an earlier version of a plan that another file names, that version becomes the current one. It returns
// problems together with an error.
//
// Errors: invalid (a document), stale (a plan changed at the same time), forbidden.
func (p *Plans) StoreFiles(ctx context.Context, req PlanFiles) ([]StoredFile, planner.Problems, error) {
	if err := p.allow(ctx, StorePlanFiles, req.By, string(StorePlanFiles)); err != nil {
		return nil, nil, err
	}
	files, problems := req.link(nil)
	if problems.Err() != nil {
		return nil, problems, invalidFiles(problems)
	}
	plans, problems, err := p.engine.ReadFiles(files, req.Origin)
	if err != nil {
		return nil, problems, err
	}
	restores := make([]*domain.RestoredVersion, len(plans))
	for i := range plans {
		plans[i].Reason = req.Reason
		if i < len(plans)-1 {
			if restores[i], err = p.earlier(ctx, plans[i].Hash, req.Reason); err != nil {
				return nil, problems, err
			}
		}
	}
	version := p.storedVersion()
	created := make([]bool, len(plans))
	_, repeated, err := performWithWork(ctx, p.kernel, StorePlanFiles, req.Meta, req, version, func(tx *store.Tx) (StoredPlan, error) {
		for i, plan := range plans {
			var err error
			if created[i], err = tx.PutVersion(plan.By(req.By.Name)); err == nil && !created[i] && restores[i] != nil {
				err = tx.RestoreVersion(*restores[i])
			}
			if err != nil {
				return StoredPlan{}, err
			}
		}
		return StoredPlan{Version: domain.Version{Hash: plans[len(plans)-1].Hash}}, nil
	})
	if err != nil {
		return nil, problems, err
	}
	out := make([]StoredFile, len(plans))
	for i, plan := range plans {
		stored, err := version.find(ctx, plan.Hash)
		if err != nil {
			return nil, problems, err
		}
		out[i] = StoredFile{stored, files[i].Path}
		for _, q := range problems {
			if q.File == files[i].Path {
				out[i].Problems = append(out[i].Problems, q)
			}
		}
		if created[i] && !repeated {
			out[i].Created = true
			p.engine.KeepPlan(plan, stored.Version)
		}
	}
	return out, problems, nil
}

// earlier returns the change that makes a stored version the current one of its plan. It returns nil if the
// content is new, or current.
func (p *Plans) earlier(ctx context.Context, hash, reason string) (*domain.RestoredVersion, error) {
	v, err := p.store.VersionByHash(ctx, hash)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	plan, err := p.store.Plan(ctx, v.PlanID)
	if err != nil || plan.LatestHash == hash {
		return nil, err
	}
	r, err := p.engine.Restored(ctx, v, reason)
	r.Base = plan.LatestHash
	return &r, err
}
