package api

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner"
)

// documentTypes are the media types of plan documents.
var documentTypes = map[string]planner.Format{
	"application/yaml":   planner.FormatYAML,
	"application/x-yaml": planner.FormatYAML,
	"text/yaml":          planner.FormatYAML,
	"application/json":   planner.FormatJSON,
}

func documentBody() *huma.RequestBody {
	b := &huma.RequestBody{Required: true, Description: "A plan document, a graph or a step plan.", Content: map[string]*huma.MediaType{}}
	for t := range documentTypes {
		b.Content[t] = &huma.MediaType{}
	}
	return b
}

type documentIn struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Reason      string `query:"reason" maxLength:"500" doc:"Reason for the version, kept with it."`
	Trial       bool   `query:"trial" doc:"Keep the plan for a trial: lists leave it out until its content is stored without this."`
	IfMatch     string `header:"If-Match" maxLength:"200" doc:"The ETag of the plan or version that this one is based on; 409 if a newer version exists."`
	RawBody     []byte `contentType:"application/yaml"`
}

// document returns a copy of the body, because the next request reuses its buffer.
func (in *documentIn) document() []byte { return bytes.Clone(in.RawBody) }

// base returns the hash of the version that the document is based on.
func (in *documentIn) base() string {
	tag := unquoted(in.IfMatch)
	tag, _, _ = strings.Cut(tag, "-") // the ETag of a plan or of a source has more parts
	return strings.TrimPrefix(tag, "*")
}

func (in *documentIn) format() planner.Format {
	media, _, _ := strings.Cut(in.ContentType, ";")
	return documentTypes[strings.ToLower(strings.TrimSpace(media))]
}

// planHandler serves plans and their versions.
type planHandler struct {
	*kernel
	plans  *app.Plans
	drafts *app.Drafts
}

func (h planHandler) routes(a *API) {
	h.planUseRoutes(a)
	h.planFileRoutes(a)
	tags := []string{"plans"}
	mount(a, huma.Operation{
		OperationID: "store-plan", Method: http.MethodPost, Path: "/plans", Tags: tags, MaxBodyBytes: maxDocument,
		Summary: "Store a plan document",
		Description: "Stores a new version. Known content returns 200 with the existing version. " +
			"A document with errors returns 422 and lists all of them.",
		RequestBody: documentBody(), SkipValidateBody: true, DefaultStatus: http.StatusCreated,
		Responses: map[string]*huma.Response{
			"200": a.jsonResponse("The content is known: the existing version", reflect.TypeFor[apitypes.StoredPlan]()),
		},
	}, h.storePlan)
	mount(a, huma.Operation{
		OperationID: "check-plan", Method: http.MethodPost, Path: "/plan-checks", Tags: tags, MaxBodyBytes: maxDocument,
		Summary:     "Check a plan document without storing it",
		RequestBody: documentBody(), SkipValidateBody: true,
	}, h.checkPlan)
	mount(a, huma.Operation{
		OperationID: "get-plan-schema", Method: http.MethodGet, Path: "/plan.schema.json", Tags: tags,
		Summary:     "The JSON Schema of plan documents, for editors",
		Description: "The schema has the tools of this server with their arguments, its agents, and its skills.",
	}, h.planSchema)
	mount(a, huma.Operation{
		OperationID: "list-plans", Method: http.MethodGet, Path: "/plans", Tags: tags, Summary: "List plans",
	}, h.listPlans)
	mount(a, huma.Operation{
		OperationID: "get-plan", Method: http.MethodGet, Path: "/plans/{id}", Tags: tags, Summary: "Get a plan",
		Responses: map[string]*huma.Response{"304": {Description: "Not modified"}},
	}, h.getPlan)
	mount(a, huma.Operation{
		OperationID: "list-plan-versions", Method: http.MethodGet, Path: "/plans/{id}/versions", Tags: tags,
		Summary: "List a plan's versions, newest first, without their source",
	}, h.listVersions)
	mount(a, huma.Operation{
		OperationID: "get-plan-version", Method: http.MethodGet, Path: "/plans/{id}/versions/{n}", Tags: tags,
		Summary:     "One version",
		Description: "With Accept: application/yaml, the response is the document as it was written.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The version", Content: map[string]*huma.MediaType{
				"application/json": {Schema: a.schema(reflect.TypeFor[apitypes.PlanVersion]())},
				"application/yaml": {Schema: &huma.Schema{Type: huma.TypeString}},
			}},
			"304": {Description: "Not modified"},
		},
	}, h.getVersion)
	for _, change := range []struct {
		id, summary, description string
		do                       func(context.Context, app.PlanChange) (domain.Plan, error)
	}{
		{"pause", "Pause a plan", "Stops new runs of the plan from starting: POST /runs returns 409. Active runs finish, and " +
			"existing runs can be resumed, rerun, and forked. A paused plan stays paused.", h.plans.Pause},
		{"unpause", "Unpause a plan", "Lets runs of a paused plan start again. A plan that is not paused stays as it is.", h.plans.Unpause},
		{"archive", "Archive a plan", "Hides a plan from lists. Its runs stay. An archived plan stays as it is.", h.plans.Archive},
		{"unarchive", "Unarchive a plan", "Shows an archived plan in lists again. A plan that is not archived stays as it is.",
			h.plans.Unarchive},
	} {
		mount(a, huma.Operation{
			OperationID: change.id + "-plan", Method: http.MethodPost, Path: "/plans/{id}/" + change.id, Tags: tags,
			Summary: change.summary, Description: change.description,
		}, func(ctx context.Context, in *archiveIn) (*planOut, error) {
			plan, err := change.do(ctx, app.PlanChange{Meta: meta(ctx), Plan: in.ID, Reason: in.reason()})
			return planAnswer(plan), err
		})
	}
}

// oneOf describes a response of one of several types.
func (a *API) oneOf(description string, types ...reflect.Type) *huma.Response {
	s := &huma.Schema{}
	for _, t := range types {
		s.OneOf = append(s.OneOf, a.schema(t))
	}
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: s}}}
}

// schema describes a type. An operation that is built at its first request has no description.
func (a *API) schema(t reflect.Type) *huma.Schema {
	if a.Lazy {
		return &huma.Schema{}
	}
	return a.huma.OpenAPI().Components.Schemas.Schema(t, true, "")
}

func (a *API) jsonResponse(description string, t reflect.Type) *huma.Response {
	return &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: a.schema(t)}}}
}

type storedPlanOut struct {
	Status   int
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     apitypes.StoredPlan
}

// originOf returns the origin of an object that a request creates: "cli" for the person on this
// host.
func originOf(ctx context.Context, otherwise string) string {
	if actorOf(ctx).Source == "cli" {
		return "cli"
	}
	return otherwise
}

func (h planHandler) storePlan(ctx context.Context, in *documentIn) (*storedPlanOut, error) {
	origin := originOf(ctx, "upload")
	if in.Trial {
		origin = "try"
	}
	stored, err := h.plans.Store(
		ctx,
		app.PlanDocument{Meta: meta(ctx), Source: in.document(), Format: in.format(), Origin: origin, Reason: in.Reason, Base: in.base()},
	)
	if err != nil {
		p := h.problem(ctx, err)
		if len(p.Problems) == 0 && len(stored.Problems) > 0 {
			p.Errors = nil
			p.withProblems(stored.Problems)
		}
		return nil, p
	}
	return storedPlan(stored), nil
}

func storedPlan(stored app.StoredPlan) *storedPlanOut {
	plan, v := stored.Plan, stored.Version
	out := &storedPlanOut{
		Status:   http.StatusOK,
		ETag:     etag(v.Hash),
		Location: Base + "/plans/" + plan.ID + "/versions/" + strconv.Itoa(v.Number),
		Body:     apitypes.StoredPlan{ID: plan.ID, Key: plan.Key, Version: v.Number, Hash: v.Hash, Problems: orEmpty(stored.Problems)},
	}
	if stored.Created {
		out.Status = http.StatusCreated
	}
	return out
}

type checkedOut struct{ Body apitypes.PlanCheck }

type checkIn struct {
	documentIn
	Profile string `query:"profile" maxLength:"64" doc:"List the steps with this profile of the plan."`
}

func (h planHandler) checkPlan(ctx context.Context, in *checkIn) (*checkedOut, error) {
	doc, problems, err := h.plans.Check(ctx, actorOf(ctx), in.document(), in.format())
	if err != nil {
		return nil, err
	}
	out := &checkedOut{Body: apitypes.PlanCheck{Valid: problems.Err() == nil, Problems: orEmpty(problems)}}
	if doc != nil {
		out.Body.Key, out.Body.Hash = doc.ID, doc.Hash
		if out.Body.Valid {
			out.Body.Steps, err = h.plans.Settings(doc, in.Profile)
		}
	}
	return out, err
}

type planSchemaOut struct {
	Body map[string]any `doc:"A JSON Schema, draft 7."`
}

func (h planHandler) planSchema(ctx context.Context, _ *struct{}) (*planSchemaOut, error) {
	schema, err := h.plans.Schema(ctx, actorOf(ctx))
	return &planSchemaOut{schema}, err
}

func orEmpty(p planner.Problems) planner.Problems {
	if p == nil {
		return planner.Problems{}
	}
	return p
}

type listPlansIn struct {
	PageIn
	Filter   string `query:"filter" maxLength:"512" doc:"tool:, agent:, owner:, label.key=value, and words of the key or the name."`
	Archived bool   `query:"archived" doc:"List archived plans instead."`
	Paused   bool   `query:"paused" doc:"List paused plans only, on one page."`
	Status   string `query:"status" enum:"used,draft,trial,block" doc:"The status of a plan; absent: all except trials and blocks."`
}

type plansOut struct{ Body apitypes.List[apitypes.Plan] }

func (h planHandler) listPlans(ctx context.Context, in *listPlansIn) (*plansOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f, problem := filter.ParsePlans(in.Filter)
	if problem != nil {
		return nil, problem
	}
	f.Archived, f.Paused, f.Stage, f.Page = in.Archived, in.Paused, in.Status, domain.Page{After: after, Limit: in.Limit}
	list, err := h.plans.List(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &plansOut{Body: listOf(list.Items, h.seal(ctx, list.Next), apitypes.PlanOf)}, nil
}

type planIn struct {
	ID          string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	IfNoneMatch string `header:"If-None-Match"`
}

type archiveIn struct {
	ID   string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	Body *ReasonOptions
}

func (in *archiveIn) reason() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.Reason
}

// ReasonOptions accompany actions that need nothing else.
type ReasonOptions struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log." example:"requested by the customer"`
}

type planOut struct {
	Status int
	ETag   string `header:"ETag"`
	Body   apitypes.Plan
}

func (h planHandler) getPlan(ctx context.Context, in *planIn) (*planOut, error) {
	out, err := h.planNamed(ctx, in.ID)
	if err == nil && matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, err
}

func (h planHandler) planNamed(ctx context.Context, id string) (*planOut, error) {
	p, err := h.plans.Get(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return planAnswer(p), nil
}

func planAnswer(p domain.Plan) *planOut {
	tag := p.LatestHash
	if p.Archived {
		tag += "-archived"
	}
	if p.Paused != nil {
		tag += "-paused"
	}
	return &planOut{Status: http.StatusOK, ETag: etag(tag), Body: apitypes.PlanOf(p)}
}

type versionsIn struct {
	ListIn
	ID string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
}

type versionsOut struct {
	Body apitypes.List[apitypes.PlanVersion]
}

func (h planHandler) listVersions(ctx context.Context, in *versionsIn) (*versionsOut, error) {
	versions, err := h.plans.Versions(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(
		ctx,
		h.kernel,
		&in.ListIn,
		versions,
		func(v domain.Version) string { return strconv.Itoa(v.Number) },
		apitypes.PlanVersionOf,
	)
	return &versionsOut{page}, err
}

type versionIn struct {
	ID          string `path:"id" maxLength:"128" doc:"The plan's id or its own key."`
	Number      string `path:"n" maxLength:"10" pattern:"^([1-9][0-9]*|latest)$" doc:"The version's number, or latest."`
	IfNoneMatch string `header:"If-None-Match"`
}

func (h planHandler) getVersion(ctx context.Context, in *versionIn) (*huma.StreamResponse, error) {
	n := 0
	if in.Number != "latest" {
		var err error
		if n, err = strconv.Atoi(in.Number); err != nil {
			return nil, domain.Errorf(domain.CodeNotFound, "plan %s has no version %s", in.ID, in.Number)
		}
	}
	v, err := h.plans.Version(ctx, actorOf(ctx), in.ID, n)
	if err != nil {
		return nil, err
	}
	source := wantsYAML(infoOf(ctx).request.Header.Get("Accept"))
	return &huma.StreamResponse{Body: func(hctx huma.Context) { h.writeVersion(hctx, v, source, in.IfNoneMatch) }}, nil
}

// writeVersion writes a version as JSON, or only its source.
func (h planHandler) writeVersion(hctx huma.Context, v domain.Version, source bool, ifNoneMatch string) {
	tag := etag(v.Hash)
	if source {
		tag = etag(v.Hash + "-source")
	}
	hctx.SetHeader("Vary", "Accept")
	hctx.SetHeader("ETag", tag)
	switch {
	case matches(ifNoneMatch, tag):
		hctx.SetStatus(http.StatusNotModified)
	case source:
		hctx.SetHeader("Content-Type", "application/yaml; charset=utf-8")
		hctx.SetStatus(http.StatusOK)
		if _, err := hctx.BodyWriter().Write(v.Source); err != nil {
			h.log.Debug("write a plan", "err", err)
		}
	default:
		h.writeJSON(hctx, http.StatusOK, apitypes.PlanVersionOf(v))
	}
}

// wantsYAML reports whether an Accept header requests the document itself.
func wantsYAML(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		if f, ok := documentTypes[strings.ToLower(strings.TrimSpace(media))]; ok {
			return f == planner.FormatYAML
		}
	}
	return false
}
