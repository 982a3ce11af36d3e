package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// ReleaseBody goes with a release of held runs.
type ReleaseBody struct {
	Plan   string `json:"plan,omitempty" maxLength:"200" doc:"Only runs of this plan, by id or key; the hold lasts."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// ReleasedBody is what a release has done.
type ReleasedBody struct {
	Released int `json:"released" doc:"How many runs continue."`
}

// MaintainBody begins or ends maintenance.
type MaintainBody struct {
	On     bool   `json:"on" doc:"true: no step starts any more."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log, and shown on every page."`
}

// MaintainedBody is the maintenance after that.
type MaintainedBody struct {
	Maintenance *domain.Maintenance `json:"maintenance,omitempty" doc:"Absent: steps start."`
}

// RetainBody asks for retention.
type RetainBody struct {
	DryRun bool   `json:"dryRun,omitempty" doc:"Only say what would be removed."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why; it goes to the audit log."`
}

type (
	systemOut struct{ Body domain.Server }
	vitalsOut struct{ Body domain.HealthMetrics }
	logIn     struct {
		Level string `query:"level" enum:"DEBUG,INFO,WARN,ERROR" doc:"This level or worse; absent: all."`
		Q     string `query:"q" maxLength:"256" doc:"Lines with this text."`
	}
	logOut        struct{ Body List[domain.DaemonLog] }
	releaseAllIn  struct{ Body *ReleaseBody }
	releasedOut   struct{ Body ReleasedBody }
	maintainIn    struct{ Body MaintainBody }
	maintainedOut struct{ Body MaintainedBody }
	backupOut     struct{ Body domain.Backup }
	retainIn      struct{ Body *RetainBody }
	retainedOut   struct{ Body domain.Retained }
)

// systemHandler serves the server as a whole.
type systemHandler struct {
	system  *app.System
	metrics http.Handler // nil: nothing is measured
}

func (h systemHandler) routes(a *API) {
	tags := []string{"system"}
	mount(a, huma.Operation{OperationID: "get-system", Method: http.MethodGet, Path: "/system", Tags: tags,
		Summary: "How the daemon and its data are: storage, backups, holds"},
		func(ctx context.Context, _ *struct{}) (*systemOut, error) {
			i, err := h.system.Get(ctx, actorOf(ctx))
			return &systemOut{i}, err
		})
	mount(a, huma.Operation{OperationID: "get-metrics-history", Method: http.MethodGet, Path: "/system/metrics-history", Tags: tags,
		Summary: "How the daemon does now, and did over the last day, a sample a minute"},
		func(ctx context.Context, _ *struct{}) (*vitalsOut, error) {
			v, err := h.system.HealthMetrics(ctx, actorOf(ctx))
			return &vitalsOut{v}, err
		})
	mount(a, huma.Operation{OperationID: "get-log", Method: http.MethodGet, Path: "/system/log", Tags: tags,
		Summary: "The newest lines of the daemon's log, newest first"},
		func(ctx context.Context, in *logIn) (*logOut, error) {
			lines, err := h.system.Log(ctx, actorOf(ctx), in.Level, in.Q)
			if err != nil {
				return nil, err
			}
			return &logOut{listOf(lines, "", same)}, nil
		})
	mount(a, huma.Operation{OperationID: "get-metrics", Method: http.MethodGet, Path: "/metrics", Tags: tags,
		Summary: "Metrics for Prometheus",
		Responses: map[string]*huma.Response{
			"200": {
				Description: "Text, as OpenMetrics if that is accepted",
				Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
			},
		}},
		func(context.Context, *struct{}) (*huma.StreamResponse, error) {
			if h.metrics == nil {
				return nil, domain.Errorf(domain.CodeUnavailable, "nothing is measured here")
			}
			return &huma.StreamResponse{Body: func(ctx huma.Context) {
				c := humaecho.Unwrap(ctx)
				h.metrics.ServeHTTP(c.Response(), c.Request())
			}}, nil
		})
	mount(a, huma.Operation{OperationID: "release-held-runs", Method: http.MethodPost, Path: "/system/release", Tags: tags,
		Summary: "End a hold: held runs continue, and new runs start"},
		func(ctx context.Context, in *releaseAllIn) (*releasedOut, error) {
			var b ReleaseBody
			if in.Body != nil {
				b = *in.Body
			}
			n, err := h.system.Release(ctx, app.HeldRuns{Meta: meta(ctx), Plan: b.Plan, Reason: b.Reason})
			return &releasedOut{ReleasedBody{int(n)}}, err
		})
	mount(a, huma.Operation{OperationID: "change-maintenance", Method: http.MethodPost, Path: "/system/maintenance", Tags: tags,
		Summary: "Let no step start any more, or let them start again"},
		func(ctx context.Context, in *maintainIn) (*maintainedOut, error) {
			m, err := h.system.Maintain(ctx, app.MaintenanceChange{Meta: meta(ctx), On: in.Body.On, Reason: in.Body.Reason})
			return &maintainedOut{MaintainedBody{m}}, err
		})
	mount(
		a,
		huma.Operation{
			OperationID:   "create-backup",
			Method:        http.MethodPost,
			Path:          "/system/backup",
			Tags:          tags,
			DefaultStatus: http.StatusCreated,
			Summary:       "Make a verified backup in the configured directory",
		},
		func(ctx context.Context, _ *struct{}) (*backupOut, error) {
			b, err := h.system.BackUp(ctx, meta(ctx))
			return &backupOut{b}, err
		},
	)
	mount(a, huma.Operation{OperationID: "run-retention", Method: http.MethodPost, Path: "/system/retention", Tags: tags,
		Summary: "Remove what retention says, or say what it would remove"},
		func(ctx context.Context, in *retainIn) (*retainedOut, error) {
			b := cmp.Or(in.Body, &RetainBody{})
			r, err := h.system.RunRetention(ctx, app.RetentionRequest{Meta: meta(ctx), Reason: b.Reason, DryRun: b.DryRun})
			return &retainedOut{r}, err
		})
}
