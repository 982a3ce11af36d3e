package api

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// tags are the subjects of the description, in the order of its pages.
var tags = []*huma.Tag{
	{Name: "runs", Description: "Runs, their journals, steps, notes, and handoffs."},
	{Name: "actions", Description: "Actions on one run, and their previews."},
	{Name: "schedules", Description: "Schedules: runs of plans at the times of cron expressions."},
	{Name: "hooks", Description: "Hooks: addresses to which other systems deliver events."},
	{Name: "signals", Description: "Signals: named events that end the waits of steps."},
	{Name: "budgets", Description: "Budgets: limits on the usage of model calls across runs."},
	{Name: "bulk", Description: "Bulk operations: one action on many runs."},
	{Name: "failures", Description: "Failed runs, grouped by cause."},
	{Name: "approvals", Description: "Approval requests and their answers."},
	{Name: "plans", Description: "Plans and their versions."},
	{Name: "planning", Description: "Plans made from requests, and drafts of them."},
	{Name: "agents", Description: "Agents of the configuration."},
	{Name: "providers", Description: "Providers of models."},
	{Name: "tools", Description: "Tools, and the MCP servers that offer some of them."},
	{Name: "memory", Description: "The memory of sessions."},
	{Name: "events", Description: "Events as they happen, and webhooks."},
	{Name: "audit", Description: "The audit log and its verification."},
	{Name: "accounts", Description: "Users and API tokens."},
	{Name: "settings", Description: "Settings of the configuration."},
	{Name: "system", Description: "The server: status, maintenance, backups, retention, metrics."},
	{Name: "meta", Description: "This API: its version, its description, and the principal of a request."},
}

// refusals are the problems that an operation can return, by status.
var refusals = map[int]string{
	http.StatusBadRequest:            "The request is malformed: a parameter, a cursor, or the JSON of the body.",
	http.StatusUnauthorized:          "Authentication is required.",
	http.StatusForbidden:             "The role or the scope does not suffice.",
	http.StatusNotFound:              "The object does not exist.",
	http.StatusConflict:              "The object is in another state, or has changed since you read it.",
	http.StatusRequestEntityTooLarge: "The body exceeds the maximum size.",
	http.StatusUnsupportedMediaType:  "The media type or the encoding of the body is not accepted.",
	http.StatusUnprocessableEntity:   "The body does not match the schema, or a value in it is not allowed.",
	http.StatusUpgradeRequired:       "The request does not open a WebSocket.",
	http.StatusTooManyRequests:       "Too many requests.",
	http.StatusInternalServerError:   "An internal error. The log of kairosd explains its errorId.",
	http.StatusServiceUnavailable:    "kairosd starts or stops, or cannot do this in its present mode.",
	http.StatusInsufficientStorage:   "The disk is full.",
}

// changes reports whether an operation changes something and stores idempotency keys.
func changes(op app.Operation) bool {
	rule, ok := app.Policy(op)
	return ok && rule.Kind != app.Query
}

// refusalsOf returns the statuses of the problems of an operation.
func refusalsOf(op *huma.Operation) []int {
	out := []int{http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTooManyRequests}
	if rule, _ := app.Policy(app.Operation(op.OperationID)); rule.Role != "" {
		out = append(out, http.StatusUnauthorized, http.StatusForbidden)
	}
	ofRun := func(p *huma.Param) bool { return p.In == "query" && (p.Name == "run" || p.Name == "a") }
	if strings.Contains(op.Path, "{") || changes(app.Operation(op.OperationID)) || slices.ContainsFunc(op.Parameters, ofRun) {
		out = append(out, http.StatusNotFound)
	}
	if op.Responses["101"] != nil {
		out = append(out, http.StatusUpgradeRequired)
	}
	if op.RequestBody != nil {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if op.Method != http.MethodGet || slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" }) {
		out = append(out, http.StatusUnprocessableEntity)
	}
	if op.Method != http.MethodGet {
		out = append(out, http.StatusConflict, http.StatusInsufficientStorage)
	}
	return out
}

func init() {
	// Lists are never null: one without items is [].
	huma.DefaultArrayNullable = false
}

func text(schema string) *huma.Schema { return &huma.Schema{Type: schema} }

// describe adds what all operations have in common to the description.
func (a *API) describe() {
	doc := a.huma.OpenAPI()
	doc.Tags = tags
	problem := a.schema(reflect.TypeFor[Problem]())
	content := map[string]*huma.MediaType{"application/problem+json": {Schema: problem}}
	doc.Components.Responses = map[string]*huma.Response{"Error": {Description: "Any other error", Content: content}}
	for status, description := range refusals {
		r := &huma.Response{Description: description, Content: content}
		switch status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusConflict:
			r.Headers = map[string]*huma.Param{
				"Retry-After": {
					Schema:      text(huma.TypeInteger),
					Description: "Seconds to wait before the next attempt. Absent if unknown.",
				},
			}
		case http.StatusUnauthorized:
			r.Headers = map[string]*huma.Param{
				"WWW-Authenticate": {Schema: text(huma.TypeString), Description: "The scheme of authentication."},
			}
		}
		doc.Components.Responses[responseName(status)] = r
	}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			if op == nil {
				continue
			}
			describeOperation(op)
			if err := describeRequests(op); err != nil {
				a.errs = append(a.errs, err)
			}
		}
	}
	a.describeWebhooks()
	a.describeNulls()
	if err := describeProperties(doc.Components.Schemas.Map()); err != nil {
		a.errs = append(a.errs, err)
	}
}

func describeOperation(op *huma.Operation) {
	const ref = "#/components/responses/"
	op.Responses["default"] = &huma.Response{Ref: ref + "Error"}
	for _, status := range refusalsOf(op) {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: ref + responseName(status)}
	}
	describeTags(op)
	describeHeaders(op)
	describeParameters(op)
	if !changes(app.Operation(op.OperationID)) {
		return
	}
	longest := maxKey
	op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header",
		Description: "Executes the request once. A repetition with the same key within 24 hours returns the current object.",
		Schema:      &huma.Schema{Type: huma.TypeString, MaxLength: &longest, Pattern: "^[!-~]+$"}})
	for status, r := range op.Responses {
		if strings.HasPrefix(status, "2") {
			if r.Headers == nil {
				r.Headers = map[string]*huma.Param{}
			}
			r.Headers["Idempotency-Replayed"] = &huma.Param{Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}},
				Description: "A request with the same key was executed before."}
		}
	}
}

// describeTags adds the ETag of the response, and If-Match.
func describeTags(op *huma.Operation) {
	if tagged[app.Operation(op.OperationID)] {
		r := op.Responses["200"]
		if r.Headers == nil {
			r.Headers = map[string]*huma.Param{}
		}
		r.Headers["ETag"] = &huma.Param{Schema: text(huma.TypeString), Description: "The state of the object, for If-Match."}
	}
	if _, ok := matched[app.Operation(op.OperationID)]; ok {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "If-Match", In: "header", Schema: text(huma.TypeString),
			Description: "The ETag of the object as you saw it; 409 if the object has changed."})
	}
}

// headerTexts describe the headers of responses without a tag, by name.
var headerTexts = map[string]string{"ETag": "The state of the object, for If-Match.", "Location": "The address of the new object.",
	"Cache-Control": "How long the response can be kept.", "Content-Disposition": "The name of the file.",
	"Content-Type": "The media type.", "Vary": "The headers that the response depends on."}

// describeHeaders describes the headers of the responses. Only a new object has a Location.
func describeHeaders(op *huma.Operation) {
	for status, r := range op.Responses {
		for name, h := range r.Headers {
			if name == "Location" && status != "201" {
				delete(r.Headers, name)
			} else if h.Description == "" {
				h.Description = headerTexts[name]
			}
		}
	}
}

// responseName returns NotFound for 404.
func responseName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// describeNulls marks the properties that can be null. A struct tag cannot do this for a reference
// to a schema.
func (a *API) describeNulls() {
	schemas := a.huma.OpenAPI().Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(schemas.Map())) {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := schemas.Map()[name].Properties[key]
			if p != nil && p.Ref != "" && f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
				schemas.Map()[name].Properties[key] = &huma.Schema{
					Description: p.Description,
					AnyOf:       []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
				}
			}
		}
	}
}

// enums are the string types with a fixed set of values.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[domain.RunStatus]():  anys(domain.RunStatuses),
	reflect.TypeFor[domain.WaitReason](): append([]any{""}, anys(domain.WaitReasons)...), // "" means that the run does not wait
	reflect.TypeFor[domain.NodeStatus](): anys(domain.NodeStatuses),
	reflect.TypeFor[domain.DraftState](): anys(domain.DraftStates),
	reflect.TypeFor[domain.BulkState]():  anys(domain.BulkStates),
	reflect.TypeFor[domain.Role]():       anys(domain.Roles),
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

// oneOf describes a type of enums.
type oneOf[T any] string

// Schema returns a schema with the values of the type.
func (oneOf[T]) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: enums[reflect.TypeFor[T]()]}
}

// describeEnums makes a registry describe these types by their values.
func describeEnums(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[domain.RunStatus](), reflect.TypeFor[oneOf[domain.RunStatus]]())
	r.RegisterTypeAlias(reflect.TypeFor[domain.WaitReason](), reflect.TypeFor[oneOf[domain.WaitReason]]())
	r.RegisterTypeAlias(reflect.TypeFor[domain.NodeStatus](), reflect.TypeFor[oneOf[domain.NodeStatus]]())
	r.RegisterTypeAlias(reflect.TypeFor[domain.DraftState](), reflect.TypeFor[oneOf[domain.DraftState]]())
	r.RegisterTypeAlias(reflect.TypeFor[domain.BulkState](), reflect.TypeFor[oneOf[domain.BulkState]]())
	r.RegisterTypeAlias(reflect.TypeFor[domain.Role](), reflect.TypeFor[oneOf[domain.Role]]())
	r.RegisterTypeAlias(reflect.TypeFor[domain.Millis](), reflect.TypeFor[float64]()) // with a fraction if there is one
}
