package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner"
)

// StartBody asks for a run.
type StartBody struct {
	Plan        string              `json:"plan,omitempty" maxLength:"128" doc:"A plan's id or its own key; required without a document."`
	Document    string              `json:"document,omitempty" maxLength:"1048576" doc:"A plan document in YAML or JSON to try without storing it, instead of plan; with dryRun only. Needs the role author. The run has the label draft."`
	Version     int                 `json:"version,omitempty" minimum:"0" doc:"0 or absent: the newest."`
	Hash        string              `json:"hash,omitempty" maxLength:"64" doc:"A version's hash, instead of version."`
	Input       domain.RawJSON      `json:"input,omitempty" doc:"Any JSON value."`
	Priority    int                 `json:"priority,omitempty" minimum:"-1000" maximum:"1000" doc:"Higher runs first."`
	Labels      map[string]string   `json:"labels,omitempty"`
	Limits      *domain.LimitsView  `json:"limits,omitempty"`
	Key         string              `json:"key,omitempty" maxLength:"128" doc:"One run per key: a second request gets the first one's run."`
	StartAt     time.Time           `json:"startAt,omitzero" doc:"Not before this time."`
	Concurrency *domain.Concurrency `json:"concurrency,omitempty"`
	Session     string              `json:"session,omitempty" maxLength:"128"`
	DryRun      bool                `json:"dryRun,omitempty" doc:"Leave undone whatever might change something or ask a model. The run's origin is dry; lists leave it out unless they ask for it. Steps that only read run, so an HTTP GET is sent."`
	Offline     bool                `json:"offline,omitempty" doc:"A dry run that sends nothing: steps that read are left undone as well."`
}

// Started answers starting a run.
type Started struct {
	RunID  string           `json:"runId"`
	Status domain.RunStatus `json:"status"`
}

// runHandler serves runs: their lists, details, journals, steps, notes, and handoffs.
type runHandler struct {
	*kernel
	runs     *app.Runs
	plans    *app.Plans
	failures *app.Failures
}

func (h runHandler) routes(a *API) {
	h.noteRoutes(a)
	h.handoffRoutes(a)
	h.exportRoutes(a)
	h.compareRoutes(a)
	h.stepRoutes(a)
	tags := []string{"runs"}
	mount(a, huma.Operation{
		OperationID: "start-run", Method: http.MethodPost, Path: "/runs", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary:     "Start a run",
		Description: "Answers once the run is durable. A key that is known answers 200 with its run.",
		Responses:   map[string]*huma.Response{"200": a.jsonResponse("The key's run, started before", reflect.TypeFor[Started]())},
	}, h.startRun)
	mount(a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/runs", Tags: tags, Summary: "List runs, newest first",
	}, h.listRuns)
	mount(a, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/runs/{id}", Tags: tags, Summary: "One run with its result so far",
	}, h.getRun)
	mount(a, huma.Operation{
		OperationID: "get-journal", Method: http.MethodGet, Path: "/runs/{id}/journal", Tags: tags,
		Summary: "A run's journal, in order",
	}, h.getJournal)
}

type startIn struct{ Body StartBody }

type startedOut struct {
	Status   int
	Location string `header:"Location"`
	Body     Started
}

func (h runHandler) startRun(ctx context.Context, in *startIn) (*startedOut, error) {
	b := &in.Body
	switch {
	case b.Document != "":
		return h.tryDocument(ctx, b)
	case b.Plan == "":
		return nil, domain.Errorf(domain.CodeInvalid, "no plan is given").Suggest("give plan, or document and dryRun")
	}
	r := domain.StartRequest{Plan: b.Plan, Version: b.Version, Hash: b.Hash, Input: b.Input, Priority: b.Priority, Labels: b.Labels,
		Key: b.Key, StartAt: b.StartAt, Concurrency: b.Concurrency, Session: b.Session, Origin: originOf(ctx, "api"), Dry: b.DryRun, Offline: b.Offline}
	if b.Limits != nil {
		limits, err := b.Limits.Limits()
		if err != nil {
			return nil, err
		}
		r.Limits = limits
	}
	began := time.Now()
	run, err := h.runs.Start(ctx, app.StartRequest{Meta: meta(ctx), StartRequest: r})
	if err != nil {
		return nil, err
	}
	out := &startedOut{Status: http.StatusCreated, Location: Base + "/runs/" + run.ID, Body: Started{run.ID, run.Status}}
	if r.Key != "" && run.CreatedAt.Before(began.Add(-time.Millisecond)) {
		out.Status = http.StatusOK // the key's run, started before
	}
	return out, nil
}

// tryDocument starts a dry run of a document that is not stored.
func (h runHandler) tryDocument(ctx context.Context, b *StartBody) (*startedOut, error) {
	if b.Plan != "" || !b.DryRun {
		return nil, domain.Errorf(domain.CodeInvalid, "a document can only be tried, and without a plan").
			Suggest("set dryRun, and leave plan out; or store the document, and start its plan")
	}
	run, problems, err := h.plans.Try(
		ctx,
		app.PlanTrial{Meta: meta(ctx), Source: []byte(b.Document), Format: planner.FormatAuto, Input: b.Input, Offline: b.Offline},
	)
	if err != nil {
		p := h.problem(ctx, err)
		if len(p.Problems) == 0 && len(problems) > 0 {
			p.Errors = nil
			p.withProblems(problems)
		}
		return nil, p
	}
	return &startedOut{
		Status:   http.StatusCreated,
		Location: Base + "/runs/" + run.ID,
		Body:     Started{RunID: run.ID, Status: run.Status},
	}, nil
}

type listRunsIn struct {
	PageIn
	Status     []string  `query:"status" maxItems:"6" doc:"One or several, separated by commas."`
	WaitReason []string  `query:"wait" maxItems:"10" doc:"What waiting runs wait for; one or several."`
	Attention  bool      `query:"attention" doc:"Only runs that failed or wait for a person."`
	Plan       string    `query:"plan" maxLength:"128" doc:"A plan's id or its own key."`
	Version    int       `query:"version" minimum:"1"`
	Node       string    `query:"node" maxLength:"128" doc:"The node that the headline speaks of."`
	Error      string    `query:"error" maxLength:"64" doc:"The code of the run's error."`
	Label      []string  `query:"label,explode" maxItems:"8" doc:"name=value; may be repeated."`
	Actor      string    `query:"actor" maxLength:"128" doc:"Who started it."`
	Parent     string    `query:"parent" maxLength:"64" doc:"Child runs of this run."`
	Related    string    `query:"related" maxLength:"64" doc:"Forks and reruns of this run."`
	Q          string    `query:"q" maxLength:"128" doc:"Text in the headline."`
	Since      time.Time `query:"since" doc:"Ended (or, if not final, started) at or after."`
	Until      time.Time `query:"until" doc:"Ended (or, if not final, started) before."`
	Deleted    bool      `query:"deleted" doc:"List deleted runs only. Without it, deleted runs are left out."`
	Filter     string    `query:"filter" maxLength:"4096" doc:"The dashboard's filter grammar, like status:failed plan:invoice since:24h; instead of the other parameters."`
}

func (in *listRunsIn) filter() (domain.RunFilter, error) {
	if in.Filter != "" {
		f, problem := filter.Parse(in.Filter, time.Now())
		if problem != nil {
			return f, problem
		}
		return f, nil
	}
	f := domain.RunFilter{NeedsAttention: in.Attention, Version: in.Version, Node: in.Node, ErrorCode: in.Error, Actor: in.Actor,
		Parent: in.Parent, RelatedTo: in.Related, Text: in.Q, Since: in.Since, Until: in.Until, Deleted: in.Deleted}
	for _, s := range in.Status {
		if !slices.Contains(domain.RunStatuses, domain.RunStatus(s)) {
			return f, invalid("status.unknown", "there is no status %.40q", s)
		}
		f.Statuses = append(f.Statuses, domain.RunStatus(s))
	}
	for _, s := range in.WaitReason {
		if !slices.Contains(domain.WaitReasons, domain.WaitReason(s)) {
			return f, invalid("wait.unknown", "there is no reason to wait %.40q", s)
		}
		f.WaitReasons = append(f.WaitReasons, domain.WaitReason(s))
	}
	for _, l := range in.Label {
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			k, v, ok = strings.Cut(l, ":")
		}
		if !ok || domain.CheckLabels(map[string]string{k: v}) != nil {
			return f, invalid("label.invalid", "%.64q is no label", l)
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[k] = v
	}
	return f, nil
}

type runsOut struct{ Body List[domain.RunView] }

func (h runHandler) listRuns(ctx context.Context, in *listRunsIn) (*runsOut, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	if f.Page.After, err = h.unseal(ctx, in.Cursor); err != nil {
		return nil, err
	}
	f.Page.Limit = in.Limit
	if in.Plan != "" {
		f.PlanKey = in.Plan
	}
	list, err := h.runs.List(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &runsOut{Body: listOf(list.Items, h.seal(ctx, list.Next), domain.ViewRun)}, nil
}

// RunIn names a run.
type RunIn struct {
	ID string `path:"id" maxLength:"64" doc:"The run's id, or at least 4 characters that its id alone begins or ends with."`
}

type runOut struct {
	ETag string `header:"ETag"`
	Body domain.RunDetailView
}

func (h runHandler) getRun(ctx context.Context, in *RunIn) (*runOut, error) {
	d, err := h.runs.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	view := domain.ViewDetail(d.RunDetail, d.Lineage)
	if view.Standing, err = h.failures.Standing(ctx, actorOf(ctx), d.Run); err != nil {
		return nil, err
	}
	return &runOut{Body: view}, nil
}

type journalIn struct {
	RunIn
	After int64 `query:"after" minimum:"0" doc:"Rows after this sequence number."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

type journalOut struct{ Body Journal }

// Journal is a part of a run's journal.
type Journal struct {
	Items []domain.Entry `json:"items"`
	Next  *int64         `json:"next" doc:"after of the next part; null at the end."`
	// Damage ends the journal: what follows cannot be trusted.
	Damage string `json:"damage,omitempty" doc:"Why the journal ends here: the row that follows is damaged. The run itself says more."`
}

func (h runHandler) getJournal(ctx context.Context, in *journalIn) (*journalOut, error) {
	part, err := h.runs.Journal(ctx, actorOf(ctx), in.ID, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &journalOut{Body: Journal{Items: append([]domain.Entry{}, part.Rows...), Damage: part.Damage}}
	if part.More {
		out.Body.Next = &part.Rows[len(part.Rows)-1].Seq
	}
	return out, nil
}
