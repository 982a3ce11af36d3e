package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Settings is what the configuration says, and what can be tried of it.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
	// TestChannel sends a message at once, and gives what came of it;
	// CodeNotFound, CodeForbidden.
	TestChannel(ctx context.Context, actor domain.Actor, channel string) (domain.Delivery, error)
	// RotateSecret takes up what a secret's file holds now; CodeNotFound,
	// CodeConflict if nothing new is there, CodeForbidden.
	RotateSecret(ctx context.Context, actor domain.Actor, name, reason string) error
}

type (
	settingsOut   struct{ Body domain.Settings }
	testChannelIn struct {
		Channel string `path:"channel" maxLength:"128"`
	}
	deliveryOut struct{ Body domain.Delivery }
	rotateIn    struct {
		Name string `path:"name" maxLength:"128"`
		Body struct {
			Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why; it goes to the audit log."`
		}
	}
)

func (a *API) settingsRoutes() {
	there := func() error {
		if a.Settings == nil {
			return domain.Errorf(domain.CodeUnavailable, "settings are not shown here")
		}
		return nil
	}
	register(a, huma.Operation{OperationID: "get-settings", Method: http.MethodGet, Path: "/settings", Tags: []string{"settings"},
		Summary: "What the configuration says: access, retention, names of secrets, notifications with their newest messages"},
		func(ctx context.Context, _ *struct{}) (*settingsOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			s, err := a.Settings.Settings(ctx)
			return &settingsOut{Body: s}, err
		})
	register(a, huma.Operation{OperationID: "test-notifications", Method: http.MethodPost, Path: "/notifications/{channel}/test", Tags: []string{"settings"},
		Summary: "Send a test message at once; the answer says what came of it"},
		func(ctx context.Context, in *testChannelIn) (*deliveryOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			d, err := a.Settings.TestChannel(ctx, actorOf(ctx), in.Channel)
			return &deliveryOut{Body: d}, err
		})
	register(a, huma.Operation{OperationID: "rotate-secret", Method: http.MethodPost, Path: "/secrets/{name}/rotate", Tags: []string{"settings"},
		Summary: "Take up the value that a secret's file holds now; 409 if it is in use already"},
		func(ctx context.Context, in *rotateIn) (*struct{}, error) {
			if err := there(); err != nil {
				return nil, err
			}
			return nil, a.Settings.RotateSecret(ctx, actorOf(ctx), in.Name, in.Body.Reason)
		})
}
