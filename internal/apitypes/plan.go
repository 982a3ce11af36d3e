package apitypes

import (
	"cmp"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// PlanUsed is the status of a plan that a person wrote or accepted. The domain has no
// name for it.
const PlanUsed = "used"

// Plan is a stored plan.
type Plan struct {
	ID          string              `json:"id"`
	Key         string              `json:"key" doc:"The id in the plan document; unique."`
	Version     int                 `json:"version" doc:"The number of the newest version."`
	Hash        string              `json:"hash" doc:"SHA-256 of the newest version."`
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Status      string              `json:"status" enum:"used,draft,trial,block" doc:"draft: not accepted; trial: kept for one run; block: part of another plan."`
	Archived    bool                `json:"archived" doc:"Lists leave the plan out."`
	Paused      *domain.Disablement `json:"paused,omitempty" doc:"Principal and reason of the pause; absent: the plan is not paused."`
	CreatedAt   time.Time           `json:"createdAt"`
	UpdatedAt   time.Time           `json:"updatedAt"`
}

// PlanOf returns a plan as the API sends it.
func PlanOf(p domain.Plan) Plan {
	return Plan{ID: p.ID, Key: p.Key, Version: p.Latest, Hash: p.LatestHash, Name: p.Name, Description: p.Description,
		Status: cmp.Or(string(p.Stage), PlanUsed), Archived: p.Archived, Paused: p.Paused, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
}

// Domain returns the plan as the domain has it.
func (p Plan) Domain() domain.Plan {
	out := domain.Plan{ID: p.ID, Key: p.Key, Name: p.Name, Description: p.Description, Latest: p.Version, LatestHash: p.Hash,
		Archived: p.Archived, Paused: p.Paused, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt}
	if p.Status != PlanUsed {
		out.Stage = domain.PlanStage(p.Status)
	}
	return out
}

// PlanVersion is one version of a plan. Versions do not change.
type PlanVersion struct {
	Plan       domain.PlanRef `json:"plan"`
	Hash       string         `json:"hash" doc:"SHA-256 of the definition."`
	Kind       string         `json:"kind" enum:"graph,steps" doc:"The kind of the document."`
	Format     string         `json:"format" enum:"yaml,json" doc:"The format of the source."`
	Origin     string         `json:"origin" doc:"How the version was made: upload, cli, example, planner, replan, or try."`
	ByPerson   bool           `json:"byPerson" doc:"Whether an author stored it."`
	ParentHash string         `json:"parentHash,omitempty" doc:"The hash of the version that it was made from."`
	Reason     string         `json:"reason,omitempty" doc:"Reason for the version."`
	Author     string         `json:"author" doc:"Principal that stored it."`
	CreatedAt  time.Time      `json:"createdAt"`
	Source     string         `json:"source,omitempty" doc:"The document as it was written. Lists leave it out."`
	Definition domain.RawJSON `json:"definition,omitempty" doc:"The document in canonical form. Lists leave it out."`
}

// PlanVersionOf returns a version as the API sends it.
func PlanVersionOf(v domain.Version) PlanVersion {
	return PlanVersion{Plan: domain.PlanRef{ID: v.PlanID, Key: v.PlanKey, Version: v.Number}, Hash: v.Hash, Kind: v.Kind, Format: v.Format,
		Origin: v.Origin, ByPerson: v.ByPerson, ParentHash: v.ParentHash, Reason: v.Reason, Author: v.Author, CreatedAt: v.CreatedAt,
		Source: string(v.Source), Definition: domain.RawJSON(v.Canonical)}
}

// Domain returns the version as the domain has it.
func (v PlanVersion) Domain() domain.Version {
	return domain.Version{PlanID: v.Plan.ID, PlanKey: v.Plan.Key, Number: v.Plan.Version, Hash: v.Hash, Kind: v.Kind, Format: v.Format,
		Origin: v.Origin, ByPerson: v.ByPerson, ParentHash: v.ParentHash, Reason: v.Reason, Author: v.Author, CreatedAt: v.CreatedAt,
		Source: []byte(v.Source), Canonical: v.Definition}
}

// StoredPlan is the stored version of a document.
type StoredPlan struct {
	ID       string           `json:"id" doc:"The plan's id."`
	Key      string           `json:"key" doc:"The plan's key."`
	Version  int              `json:"version" doc:"The number of the version."`
	Hash     string           `json:"hash" doc:"SHA-256 of the version."`
	Problems planner.Problems `json:"problems" doc:"Warnings. A document with errors is rejected."`
}

// PlanFiles contains plan files that name each other, such as plan: ./other.yaml.
type PlanFiles struct {
	Root  string            `json:"root" minLength:"1" maxLength:"1024" doc:"The path of the file that names the others." example:"main.yaml"`
	Files map[string]string `json:"files" minProperties:"1" maxProperties:"100" doc:"The text of each file, by its path relative to the directory of root."`
}

// StoredFile is the stored version of a plan file.
type StoredFile struct {
	File string `json:"file" doc:"The path of the file."`
	New  bool   `json:"new" doc:"Whether the content was not stored before."`
	StoredPlan
}

// StoredFiles contains stored plan files.
type StoredFiles struct {
	Plans []StoredFile `json:"plans" doc:"Each plan after those that it names; the plan of root is the last one."`
}

// CheckedFile is the result of checking a plan file.
type CheckedFile struct {
	File string `json:"file" doc:"The path of the file."`
	PlanCheck
}

// CheckedFiles contains the results of checking plan files.
type CheckedFiles struct {
	Plans []CheckedFile `json:"plans" doc:"Each plan after those that it names. If the files cannot be read together, only root."`
}

// PlanCheck is the result of checking a document.
type PlanCheck struct {
	Valid    bool             `json:"valid" doc:"Whether the document has no errors."`
	Key      string           `json:"key,omitempty" doc:"The plan's key."`
	Hash     string           `json:"hash,omitempty" doc:"SHA-256 of the definition."`
	Problems planner.Problems `json:"problems" doc:"Errors and warnings."`
	// Steps is empty if the document has errors.
	Steps []domain.StepSettings `json:"steps,omitempty" doc:"The steps of a valid document, with the defaults of the plan and of kairosd."`
}

// AlternativeAccept accepts a generated plan, or one of its alternatives.
type AlternativeAccept struct {
	Version     int    `json:"version,omitempty" minimum:"1" doc:"A proposed version of a plan in use; absent: the newest."`
	Alternative string `json:"alternative,omitempty" maxLength:"64" doc:"The kind of an alternative to accept instead." example:"cheaper"`
	Reason      string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}
