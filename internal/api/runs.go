package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner"
)

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
	h.doubtRoutes(a)
	h.exportRoutes(a)
	h.compareRoutes(a)
	h.stepRoutes(a)
	tags := []string{"runs"}
	mount(a, huma.Operation{
		OperationID: "start-run", Method: http.MethodPost, Path: "/runs", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary:     "Start a run",
		Description: "The response follows when the run is durable. A known key returns 200 with its run.",
		Responses: map[string]*huma.Response{
			"200": a.jsonResponse("The run that was started with this key", reflect.TypeFor[apitypes.Run]())},
	}, h.startRun)
	mount(a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/runs", Tags: tags, Summary: "List runs, newest first",
	}, h.listRuns)
	mount(a, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/runs/{id}", Tags: tags, Summary: "Get a run with its current result",
	}, h.getRun)
	mount(a, huma.Operation{
		OperationID: "get-journal", Method: http.MethodGet, Path: "/runs/{id}/journal", Tags: tags,
		Summary: "List the journal of a run, in order",
	}, h.getJournal)
}

type startIn struct{ Body apitypes.RunCreate }

type startedOut struct {
	Status   int
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     apitypes.Run
}

// started responds with a run that was started.
func started(run domain.Run) *startedOut {
	return &startedOut{Status: http.StatusCreated, Location: Base + "/runs/" + run.ID, ETag: runTag(run), Body: apitypes.RunOf(run)}
}

func (h runHandler) startRun(ctx context.Context, in *startIn) (*startedOut, error) {
	b := &in.Body
	switch {
	case b.Document != "" || b.Files != nil:
		return h.tryDocument(ctx, b)
	case b.Plan == "":
		return nil, domain.Errorf(domain.CodeInvalid, "the request names no plan").Suggest("send plan, or document and dryRun")
	}
	r, err := startRequest(ctx, b)
	if err != nil {
		return nil, err
	}
	began := time.Now().Truncate(time.Microsecond) // rounded as in the store
	run, err := h.runs.Start(ctx, app.StartRequest{Meta: meta(ctx), StartRequest: r})
	if err != nil {
		return nil, err
	}
	out := started(run)
	if r.Key != "" && run.CreatedAt.Before(began) {
		out.Status = http.StatusOK // an earlier request with this key started the run
	}
	return out, nil
}

func startRequest(ctx context.Context, b *apitypes.RunCreate) (r domain.StartRequest, err error) {
	r = domain.StartRequest{Plan: b.Plan, Version: b.Version, Hash: b.Hash, Profile: b.Profile, Input: b.Input, Priority: b.Priority,
		Labels: b.Labels, Key: b.Key, StartAt: b.StartAt, Concurrency: b.Concurrency, Session: b.Session, Origin: originOf(ctx, "api"),
		Dry: b.DryRun, Offline: b.Offline}
	if b.Limits != nil {
		r.Limits, err = b.Limits.Limits()
	}
	return r, err
}

// tryDocument starts a dry run of a document that is not stored.
func (h runHandler) tryDocument(ctx context.Context, b *apitypes.RunCreate) (*startedOut, error) {
	if b.Plan != "" || !b.DryRun || b.Document != "" && b.Files != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "a document requires dryRun, and excludes plan").
			Suggest("set dryRun and leave plan out, or store the document and start its plan")
	}
	trial := app.PlanTrial{Meta: meta(ctx), Source: []byte(b.Document), Format: planner.FormatAuto, Input: b.Input, Profile: b.Profile,
		Offline: b.Offline}
	if b.Files != nil {
		trial.Files = app.PlanTexts(*b.Files)
	}
	run, problems, err := h.plans.Try(ctx, trial)
	if err != nil {
		p := h.problem(ctx, err)
		if len(p.Problems) == 0 && len(problems) > 0 {
			p.Errors = nil
			p.withProblems(problems)
		}
		return nil, p
	}
	return started(run), nil
}

type listRunsIn struct {
	PageIn
	Status     []string `query:"status" maxItems:"6" doc:"One or several, separated by commas."`
	WaitReason []string `query:"wait" maxItems:"10" doc:"Wait reasons, one or several."`
	Attention  bool     `query:"attention" doc:"Only runs that failed or wait for a person."`
	Plan       string   `query:"plan" maxLength:"128" doc:"A plan's id or its own key."`
	Version    int      `query:"version" minimum:"1"`
	Node       string   `query:"node" maxLength:"128" doc:"The step in the status message."`
	Error      string   `query:"error" maxLength:"64" doc:"The code of the run's error."`
	Label      []string `query:"label,explode" maxItems:"8" doc:"name=value; may be repeated."`
	Actor      string   `query:"actor" maxLength:"128" doc:"Principal that started the run."`
	Parent     string   `query:"parent" maxLength:"64" doc:"Child runs of this run."`
	Related    string   `query:"related" maxLength:"64" doc:"Forks and reruns of this run."`
	Text       string   `query:"text" maxLength:"128" doc:"Text in the status message."`
	Since      string   `query:"since" maxLength:"40" doc:"Ended (or, if not final, started) later: 24h, 7d, or a time."`
	Until      string   `query:"until" maxLength:"40" doc:"Ended (or, if not final, started) before: 24h, 7d, or a time."`
	Deleted    bool     `query:"deleted" doc:"List deleted runs only. Without it, deleted runs are left out."`
	Filter     string   `query:"filter" maxLength:"4096" doc:"Such as status:failed since:24h; replaces the other parameters."`
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
		Parent: in.Parent, RelatedTo: in.Related, Text: in.Text, Deleted: in.Deleted}
	var err error
	if f.Since, err = parseTime("since", in.Since); err != nil {
		return f, err
	}
	if f.Until, err = parseTime("until", in.Until); err != nil {
		return f, err
	}
	for _, s := range in.Status {
		if !slices.Contains(domain.RunStatuses, domain.RunStatus(s)) {
			return f, invalid("status.unknown", "unknown status %.40q", s)
		}
		f.Statuses = append(f.Statuses, domain.RunStatus(s))
	}
	for _, s := range in.WaitReason {
		if !slices.Contains(domain.WaitReasons, domain.WaitReason(s)) {
			return f, invalid("wait.unknown", "unknown wait reason %.40q", s)
		}
		f.WaitReasons = append(f.WaitReasons, domain.WaitReason(s))
	}
	for _, l := range in.Label {
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			k, v, ok = strings.Cut(l, ":")
		}
		if !ok || domain.CheckLabels(map[string]string{k: v}) != nil {
			return f, invalid("label.invalid", "invalid label %.64q", l)
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[k] = v
	}
	return f, nil
}

type runsOut struct{ Body apitypes.List[apitypes.Run] }

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
	return &runsOut{Body: listOf(list.Items, h.seal(ctx, list.Next), apitypes.RunOf)}, nil
}

// RunIn identifies a run.
type RunIn struct {
	ID string `path:"id" maxLength:"64" doc:"The run's id, or a unique prefix or suffix of it with at least 4 characters."`
}

type runOut struct {
	ETag string `header:"ETag"`
	Body apitypes.RunDetail
}

func (h runHandler) getRun(ctx context.Context, in *RunIn) (*runOut, error) {
	d, err := h.runs.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	view := apitypes.DetailOf(d.RunDetail, d.Lineage)
	if view.FailureStatus, err = h.failures.Standing(ctx, actorOf(ctx), d.Run); err != nil {
		return nil, err
	}
	return &runOut{runTag(d.Run), view}, nil
}

type journalIn struct {
	RunIn
	LongPageIn
}

type journalOut struct{ Body JournalPage }

// JournalPage is a page of a run's journal.
type JournalPage struct {
	apitypes.List[domain.Entry]
	// Damage ends the journal: the rows after it cannot be trusted.
	Damage string `json:"damage,omitempty" doc:"Damage that ends the journal here: the next row cannot be trusted. The run has the details."`
}

func (h runHandler) getJournal(ctx context.Context, in *journalIn) (*journalOut, error) {
	after, err := h.position(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	damage := ""
	found, next, err := filter.Search(in.Filter, in.Limit, after, func(after int64, limit int) ([]domain.Entry, int64, error) {
		part, err := h.runs.Journal(ctx, actorOf(ctx), in.ID, after, limit)
		damage = part.Damage
		if err != nil || !part.More {
			return part.Rows, 0, err
		}
		return part.Rows, part.Rows[len(part.Rows)-1].Seq, nil
	})
	return &journalOut{Body: JournalPage{List: listOf(found, h.sealPosition(ctx, next), same), Damage: damage}}, err
}
