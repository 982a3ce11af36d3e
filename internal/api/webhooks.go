package api

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// describeWebhooks describes the requests that kairosd sends to notification channels.
func (a *API) describeWebhooks() {
	doc := a.huma.OpenAPI()
	notification := a.schema(reflect.TypeFor[domain.Notification]())
	a.schema(reflect.TypeFor[domain.Delivery]())
	doc.Components.Schemas.Map()["Delivery"].Properties["body"] = notification
	header := func(name, description string, required bool) *huma.Param {
		return &huma.Param{Name: name, In: "header", Required: required, Description: description, Schema: text(huma.TypeString)}
	}
	response := func(description string) *huma.Response { return &huma.Response{Description: description} }
	doc.Webhooks = map[string]*huma.PathItem{"notification": {Post: &huma.Operation{
		OperationID: "receive-notification", Method: http.MethodPost, Tags: []string{"events"},
		Summary: "Receive a notification",
		Description: "kairosd sends this request to each webhook of the configuration. It delivers a notification at least once. " +
			"Ignore an id that you have processed.",
		Security: []map[string][]string{},
		Parameters: []*huma.Param{
			header("Webhook-Id", "The id of the notification.", true),
			header("Webhook-Timestamp", "The time of the request, in seconds since 1970.", true),
			header("Webhook-Signature", "v1, and the base64 of HMAC-SHA256 over id.timestamp.body; absent without a secret.", false),
		},
		RequestBody: &huma.RequestBody{Required: true,
			Content: map[string]*huma.MediaType{"application/json": {Schema: notification}}},
		Responses: map[string]*huma.Response{
			"2XX": response("The notification was received."),
			"408": response("kairosd sends the notification again."),
			"425": response("kairosd sends the notification again."),
			"429": response("kairosd sends the notification again, not before Retry-After."),
			"4XX": response("Any other 4xx status is final: kairosd does not send the notification again."),
			"5XX": response("kairosd sends the notification again, not before Retry-After."),
		},
	}}}
}
