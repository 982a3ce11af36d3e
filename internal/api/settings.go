package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type (
	settingsOut   struct{ Body domain.Settings }
	testChannelIn struct {
		Channel string `path:"channel" maxLength:"128"`
	}
	deliveryOut struct{ Body domain.Delivery }
	secretOut   struct{ Body domain.SecretInfo }
	rotateIn    struct {
		Name string `path:"name" maxLength:"128"`
		Body *ReasonOptions
	}
)

// settingsHandler serves the settings of the configuration.
type settingsHandler struct {
	system *app.System
}

func (h settingsHandler) routes(a *API) {
	mount(a, huma.Operation{OperationID: "get-settings", Method: http.MethodGet, Path: "/settings", Tags: []string{"settings"},
		Summary: "Get the settings: access, retention, names of secrets, and notifications with their newest messages"},
		func(ctx context.Context, _ *struct{}) (*settingsOut, error) {
			s, err := h.system.Settings(ctx, actorOf(ctx))
			return &settingsOut{Body: s}, err
		})
	mount(
		a,
		huma.Operation{
			OperationID: "test-notifications",
			Method:      http.MethodPost,
			Path:        "/notifications/{channel}/test",
			Tags:        []string{"settings"},
			Summary:     "Send a test message, and return its delivery",
		},
		func(ctx context.Context, in *testChannelIn) (*deliveryOut, error) {
			d, err := h.system.TestNotifications(ctx, app.ChannelTest{Meta: meta(ctx), Channel: in.Channel})
			return &deliveryOut{Body: d}, err
		},
	)
	mount(
		a,
		huma.Operation{OperationID: "rotate-secret", Method: http.MethodPost, Path: "/secrets/{name}/rotate", Tags: []string{"settings"},
			Summary:     "Apply the value that the file of a secret holds now",
			Description: "A secret whose file has not changed is returned unchanged. 409 means that it comes from the environment."},
		func(ctx context.Context, in *rotateIn) (*secretOut, error) {
			reason := cmp.Or(in.Body, &ReasonOptions{}).Reason
			s, err := h.system.RotateSecret(ctx, app.SecretChange{Meta: meta(ctx), Name: in.Name, Reason: reason})
			return &secretOut{s}, err
		},
	)
}
