package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
)

// maxFiles limits the body of requests with plan files.
const maxFiles = 8 << 20

func (h planHandler) planFileRoutes(a *API) {
	tags := []string{"plans"}
	mount(a, huma.Operation{
		OperationID: "store-plan-files", Method: http.MethodPost, Path: "/plan-files", Tags: tags, MaxBodyBytes: maxFiles,
		Summary: "Store plan files that name each other",
		Description: "Stores a plan file and the files that its steps name, such as plan: ./other.yaml, in one transaction. " +
			"In the stored documents, plan ids replace the names of files. Content that is already stored gets no new version. " +
			"The response is 422 if a document has errors, and lists all of them with their files.",
	}, h.storePlanFiles)
	mount(a, huma.Operation{
		OperationID: "check-plan-files", Method: http.MethodPost, Path: "/plan-file-checks", Tags: tags, MaxBodyBytes: maxFiles,
		Summary: "Check plan files that name each other, without storing them",
	}, h.checkPlanFiles)
}

type planFilesIn struct {
	Reason string `query:"reason" maxLength:"500" doc:"Reason for the versions, kept with them."`
	Body   apitypes.PlanFiles
}

type storedFilesOut struct{ Body apitypes.StoredFiles }

func (h planHandler) storePlanFiles(ctx context.Context, in *planFilesIn) (*storedFilesOut, error) {
	stored, problems, err := h.plans.StoreFiles(ctx, app.PlanFiles{Meta: meta(ctx), PlanTexts: app.PlanTexts(in.Body),
		Origin: originOf(ctx, "upload"), Reason: in.Reason})
	if err != nil {
		p := h.problem(ctx, err)
		if len(p.Problems) == 0 && len(problems) > 0 {
			p.Errors = nil
			p.withProblems(problems)
		}
		return nil, p
	}
	out := &storedFilesOut{}
	for _, s := range stored {
		file := apitypes.StoredFile{File: s.File, New: s.Created, StoredPlan: storedPlan(s.StoredPlan).Body}
		out.Body.Plans = append(out.Body.Plans, file)
	}
	return out, nil
}

type checkFilesIn struct {
	Profile string `query:"profile" maxLength:"64" doc:"List the steps with this profile, of the plans that declare it."`
	Body    apitypes.PlanFiles
}

type checkedFilesOut struct{ Body apitypes.CheckedFiles }

func (h planHandler) checkPlanFiles(ctx context.Context, in *checkFilesIn) (*checkedFilesOut, error) {
	files, problems, err := h.plans.CheckFiles(ctx, actorOf(ctx), app.PlanTexts(in.Body))
	if err != nil {
		return nil, err
	}
	out := &checkedFilesOut{}
	if len(files) == 0 {
		out.Body.Plans = []apitypes.CheckedFile{{File: in.Body.Root, PlanCheck: apitypes.PlanCheck{Problems: orEmpty(problems)}}}
	}
	for i, f := range files {
		c := apitypes.CheckedFile{File: f.Path}
		c.Valid, c.Problems = f.Problems.Err() == nil, orEmpty(f.Problems)
		if f.Doc != nil {
			c.Key, c.Hash = f.Doc.ID, f.Doc.Hash
			profile := in.Profile
			if i < len(files)-1 && f.Doc.With(profile) == nil {
				profile = ""
			}
			if c.Valid {
				if c.Steps, err = h.plans.Settings(f.Doc, profile); err != nil {
					return nil, err
				}
			}
		}
		out.Body.Plans = append(out.Body.Plans, c)
	}
	return out, nil
}
