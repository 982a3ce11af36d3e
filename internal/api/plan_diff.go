package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
)

// PlanComparison contains the changes from one version of a plan to another.
type PlanComparison struct {
	Plan    domain.PlanRef `json:"plan"`
	From    int            `json:"from"`
	To      int            `json:"to"`
	Hashes  [2]string      `json:"hashes" doc:"Of both versions."`
	Added   int            `json:"added" doc:"Number of added lines. If none were added or removed, the texts are equal."`
	Removed int            `json:"removed"`
	Lines   []DiffLine     `json:"lines" doc:"Changed lines, with a few lines around them. A version in YAML and one in JSON are compared as YAML."`
}

// DiffLine is a line of a difference.
type DiffLine struct {
	Sign plandiff.Sign `json:"sign" enum:"+,-, ,…" doc:"… stands for equal lines that are left out."`
	Text string        `json:"text"`
}

func (h planHandler) planDiffRoutes(a *API) {
	mount(a, huma.Operation{
		OperationID: "compare-plan-versions", Method: http.MethodGet, Path: "/plans/{id}/diff/{a}/{b}", Tags: []string{"plans"},
		Summary: "Compare two versions of a plan line by line",
	}, h.planDiff)
}

type planDiffIn struct {
	ID string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	A  int    `path:"a" minimum:"1" doc:"The version's number."`
	B  int    `path:"b" minimum:"1"`
}

type planDiffOut struct{ Body PlanComparison }

func (h planHandler) planDiff(ctx context.Context, in *planDiffIn) (*planDiffOut, error) {
	var versions [2]domain.Version
	for i, n := range []int{in.A, in.B} {
		var err error
		if versions[i], err = h.plans.Version(ctx, actorOf(ctx), in.ID, n); err != nil {
			return nil, err
		}
	}
	d := plandiff.Versions(versions[0], versions[1])
	out := PlanComparison{
		Plan:    domain.PlanRef{ID: versions[0].PlanID, Key: versions[0].PlanKey},
		From:    in.A,
		To:      in.B,
		Hashes:  [2]string{versions[0].Hash, versions[1].Hash},
		Added:   d.Added,
		Removed: d.Removed,
		Lines:   make([]DiffLine, 0, len(d.Lines)),
	}
	for _, l := range d.Lines {
		out.Lines = append(out.Lines, DiffLine(l))
	}
	return &planDiffOut{Body: out}, nil
}
