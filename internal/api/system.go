package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/domain"
)

// System looks after the installation as a whole.
type System interface {
	// Installation says how the daemon and its data are.
	Installation(ctx context.Context) (domain.Installation, error)
	// Vitals is how the daemon does now and did over the last day.
	Vitals(ctx context.Context) (domain.Vitals, error)
	// Log is the newest lines of the daemon's log, newest first, of a level or worse
	// (empty: all) that hold a text (empty: any).
	Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error)
	// ReleaseHeld ends a hold and lets all held runs go on, or only those of a
	// plan; CodeConflict when nothing is held.
	ReleaseHeld(ctx context.Context, actor domain.Actor, plan, reason string) (int, error)
	// Maintain lets no step start any more, or lets them start again; CodeConflict
	// when that is so already.
	Maintain(ctx context.Context, actor domain.Actor, on bool, reason string) (*domain.Maintenance, error)
	// BackUp makes a verified backup in the configured directory.
	BackUp(ctx context.Context, actor domain.Actor) (domain.Backup, error)
	// Retain removes what retention says, or only says what it would remove.
	Retain(ctx context.Context, actor domain.Actor, reason string, dryRun bool) (domain.Retained, error)
}

// ReleaseBody goes with a release of held runs.
type ReleaseBody struct {
	Plan   string `json:"plan,omitempty" maxLength:"200" doc:"Only runs of this plan, by id or key; the hold lasts."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// ReleasedBody is what a release has done.
type ReleasedBody struct {
	Released int `json:"released" doc:"How many runs go on."`
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
	installationOut struct{ Body domain.Installation }
	vitalsOut       struct{ Body domain.Vitals }
	logIn           struct {
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

func (a *API) systemRoutes() {
	tags := []string{"system"}
	there := func() error {
		if a.System == nil {
			return domain.Errorf(domain.CodeUnavailable, "the system is not managed here")
		}
		return nil
	}
	register(a, huma.Operation{OperationID: "get-system", Method: http.MethodGet, Path: "/system", Tags: tags,
		Summary: "How the daemon and its data are: storage, backups, holds"},
		func(ctx context.Context, _ *struct{}) (*installationOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			i, err := a.System.Installation(ctx)
			return &installationOut{i}, err
		})
	register(a, huma.Operation{OperationID: "get-vitals", Method: http.MethodGet, Path: "/system/vitals", Tags: tags,
		Summary: "How the daemon does now, and did over the last day, a sample a minute"},
		func(ctx context.Context, _ *struct{}) (*vitalsOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			v, err := a.System.Vitals(ctx)
			return &vitalsOut{v}, err
		})
	register(a, huma.Operation{OperationID: "get-log", Method: http.MethodGet, Path: "/system/log", Tags: tags,
		Summary: "The newest lines of the daemon's log, newest first"},
		func(ctx context.Context, in *logIn) (*logOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			lines, err := a.System.Log(ctx, in.Level, in.Q)
			if err != nil {
				return nil, err
			}
			return &logOut{listOf(lines, "", func(l domain.DaemonLog) domain.DaemonLog { return l })}, nil
		})
	register(a, huma.Operation{OperationID: "get-metrics", Method: http.MethodGet, Path: "/metrics", Tags: tags,
		Summary:   "Metrics for Prometheus",
		Responses: map[string]*huma.Response{"200": {Description: "Text, as OpenMetrics if that is accepted", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}}},
		func(context.Context, *struct{}) (*huma.StreamResponse, error) {
			if a.Metrics == nil {
				return nil, domain.Errorf(domain.CodeUnavailable, "nothing is measured here")
			}
			return &huma.StreamResponse{Body: func(ctx huma.Context) {
				c := humaecho.Unwrap(ctx)
				a.Metrics.ServeHTTP(c.Response(), c.Request())
			}}, nil
		})
	register(a, huma.Operation{OperationID: "release-all", Method: http.MethodPost, Path: "/system/release", Tags: tags,
		Summary: "End a hold: all held runs go on, and new ones are executed again"},
		func(ctx context.Context, in *releaseAllIn) (*releasedOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			var b ReleaseBody
			if in.Body != nil {
				b = *in.Body
			}
			n, err := a.System.ReleaseHeld(ctx, actorOf(ctx), b.Plan, b.Reason)
			return &releasedOut{ReleasedBody{n}}, err
		})
	register(a, huma.Operation{OperationID: "maintain", Method: http.MethodPost, Path: "/system/maintenance", Tags: tags,
		Summary: "Let no step start any more, or let them start again"},
		func(ctx context.Context, in *maintainIn) (*maintainedOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			m, err := a.System.Maintain(ctx, actorOf(ctx), in.Body.On, in.Body.Reason)
			return &maintainedOut{MaintainedBody{m}}, err
		})
	register(a, huma.Operation{OperationID: "back-up", Method: http.MethodPost, Path: "/system/backup", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Make a verified backup in the configured directory"},
		func(ctx context.Context, _ *struct{}) (*backupOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			b, err := a.System.BackUp(ctx, actorOf(ctx))
			return &backupOut{b}, err
		})
	register(a, huma.Operation{OperationID: "retain", Method: http.MethodPost, Path: "/system/retention", Tags: tags,
		Summary: "Remove what retention says, or say what it would remove"},
		func(ctx context.Context, in *retainIn) (*retainedOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			b := cmp.Or(in.Body, &RetainBody{})
			r, err := a.System.Retain(ctx, actorOf(ctx), b.Reason, b.DryRun)
			return &retainedOut{r}, err
		})
}
