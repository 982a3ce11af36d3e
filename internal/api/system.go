package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// HeldRunsRelease is the body of a request to release held runs.
type HeldRunsRelease struct {
	Plan   string `json:"plan,omitempty" maxLength:"200" doc:"Only runs of this plan, by id or key; the hold lasts."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// HeldRunsReleased is the result of releasing held runs.
type HeldRunsReleased struct {
	Released int `json:"released" doc:"Number of runs that continue."`
}

// MaintenanceStatus is whether maintenance is on.
type MaintenanceStatus struct {
	Maintenance *domain.Maintenance `json:"maintenance,omitempty" doc:"Absent: steps start."`
}

// RetentionRun is the body of a request to apply retention.
type RetentionRun struct {
	DryRun bool   `json:"dryRun,omitempty" doc:"Only predict what would be deleted."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

type (
	systemOut        struct{ Body domain.Server }
	healthMetricsOut struct{ Body domain.HealthMetrics }
	logIn            struct {
		ListIn
		Level string `query:"level" enum:"DEBUG,INFO,WARN,ERROR" doc:"The minimum level; absent: all."`
	}
	logOut struct {
		Body apitypes.List[domain.DaemonLog]
	}
	releaseAllIn     struct{ Body *HeldRunsRelease }
	releasedOut      struct{ Body HeldRunsReleased }
	maintainIn       struct{ Body *ReasonOptions }
	endMaintenanceIn struct {
		Reason string `query:"reason" maxLength:"500" doc:"Kept in the audit log."`
	}
	maintainedOut struct{ Body MaintenanceStatus }
	backupOut     struct{ Body domain.Backup }
	retainIn      struct{ Body *RetentionRun }
	retainedOut   struct{ Body domain.RetentionResult }
)

// systemHandler serves the server as a whole.
type systemHandler struct {
	*kernel
	system  *app.System
	metrics http.Handler // nil: nothing is measured
}

func (h systemHandler) routes(a *API) {
	tags := []string{"system"}
	mount(a, huma.Operation{OperationID: "get-system", Method: http.MethodGet, Path: "/system", Tags: tags,
		Summary: "Get the status of the server: storage, backups, and holds"},
		func(ctx context.Context, _ *struct{}) (*systemOut, error) {
			i, err := h.system.Get(ctx, actorOf(ctx))
			return &systemOut{i}, err
		})
	mount(a, huma.Operation{OperationID: "get-metrics-history", Method: http.MethodGet, Path: "/system/metrics-history", Tags: tags,
		Summary: "Get health metrics of the last day, one sample per minute"},
		func(ctx context.Context, _ *struct{}) (*healthMetricsOut, error) {
			v, err := h.system.HealthMetrics(ctx, actorOf(ctx))
			return &healthMetricsOut{v}, err
		})
	mount(a, huma.Operation{OperationID: "get-log", Method: http.MethodGet, Path: "/system/log", Tags: tags,
		Summary: "List the newest lines of the daemon's log, newest first"},
		func(ctx context.Context, in *logIn) (*logOut, error) {
			lines, err := h.system.Log(ctx, actorOf(ctx), in.Level, "")
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, &in.ListIn, lines, logID, same)
			return &logOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "get-metrics", Method: http.MethodGet, Path: "/metrics", Tags: tags,
		Summary: "Get metrics for Prometheus",
		Responses: map[string]*huma.Response{
			"200": {
				Description: "Text, as OpenMetrics if that is accepted",
				Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
			},
		}},
		func(context.Context, *struct{}) (*huma.StreamResponse, error) {
			if h.metrics == nil {
				return nil, domain.Errorf(domain.CodeUnavailable, "this server has no metrics")
			}
			return &huma.StreamResponse{Body: func(ctx huma.Context) {
				c := humaecho.Unwrap(ctx)
				h.metrics.ServeHTTP(c.Response(), c.Request())
			}}, nil
		})
	mount(a, huma.Operation{OperationID: "release-held-runs", Method: http.MethodPost, Path: "/system/release", Tags: tags,
		Summary: "End a hold: held runs continue, and new runs start"},
		func(ctx context.Context, in *releaseAllIn) (*releasedOut, error) {
			var b HeldRunsRelease
			if in.Body != nil {
				b = *in.Body
			}
			n, err := h.system.Release(ctx, app.HeldRuns{Meta: meta(ctx), Plan: b.Plan, Reason: b.Reason})
			return &releasedOut{HeldRunsReleased{int(n)}}, err
		})
	mount(a, huma.Operation{OperationID: "set-maintenance", Method: http.MethodPut, Path: "/system/maintenance", Tags: tags,
		Summary: "Pause all execution", Description: "Running steps finish, and no new step starts. A repetition changes nothing."},
		func(ctx context.Context, in *maintainIn) (*maintainedOut, error) {
			return h.maintain(ctx, true, cmp.Or(in.Body, &ReasonOptions{}).Reason)
		})
	mount(a, huma.Operation{OperationID: "end-maintenance", Method: http.MethodDelete, Path: "/system/maintenance", Tags: tags,
		Summary: "Resume all execution", Description: "A repetition changes nothing."},
		func(ctx context.Context, in *endMaintenanceIn) (*maintainedOut, error) {
			return h.maintain(ctx, false, in.Reason)
		})
	mount(
		a,
		huma.Operation{
			OperationID:   "create-backup",
			Method:        http.MethodPost,
			Path:          "/system/backup",
			Tags:          tags,
			DefaultStatus: http.StatusCreated,
			Summary:       "Create a verified backup in the configured directory",
		},
		func(ctx context.Context, _ *struct{}) (*backupOut, error) {
			b, err := h.system.BackUp(ctx, meta(ctx))
			return &backupOut{b}, err
		},
	)
	mount(a, huma.Operation{OperationID: "run-retention", Method: http.MethodPost, Path: "/system/retention", Tags: tags,
		Summary: "Delete expired data, or predict what would be deleted"},
		func(ctx context.Context, in *retainIn) (*retainedOut, error) {
			b := cmp.Or(in.Body, &RetentionRun{})
			r, err := h.system.RunRetention(ctx, app.RetentionRequest{Meta: meta(ctx), Reason: b.Reason, DryRun: b.DryRun})
			return &retainedOut{r}, err
		})
}

func (h systemHandler) maintain(ctx context.Context, on bool, reason string) (*maintainedOut, error) {
	m, err := h.system.Maintain(ctx, app.MaintenanceChange{Meta: meta(ctx), On: on, Reason: reason})
	return &maintainedOut{MaintenanceStatus{m}}, err
}

// logID identifies a line of the log.
func logID(l domain.DaemonLog) string { return l.At.Format(time.RFC3339Nano) + "\x00" + l.Message }
