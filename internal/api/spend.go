package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type spendIn struct {
	ListIn
	By     []string `query:"by" maxItems:"5" enum:"plan,agent,provider,model,label" doc:"The names to sum by, one or several; absent: plan."`
	Label  string   `query:"label" maxLength:"200" doc:"With by=label: the key of the only label, so that each call counts once."`
	Since  string   `query:"since" maxLength:"40" default:"30d" doc:"24h, 7d, or a time."`
	Period string   `query:"period" enum:"hour,day,month" doc:"One sum per hour, day, or month in UTC; absent: one sum since that time."`
	Format string   `query:"format" enum:"json,csv" doc:"csv: the whole list as CSV, as with Accept: text/csv."`
}

// spendPeriods are the lengths of periods.
var spendPeriods = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "month": app.Month}

func (h agentHandler) spendRoutes(a *API) {
	mount(a, huma.Operation{OperationID: "get-spend", Method: http.MethodGet, Path: "/spend", Tags: []string{"providers"},
		Summary: "Get the usage and the cost of model calls",
		Description: "Sums by plan, agent, provider, model, or label. The largest cost comes first, or with a period the earliest one. " +
			"A call counts for each label of its run, unless label names a key. CSV has no pages.",
		Responses: map[string]*huma.Response{"200": {Description: "The sums", Content: map[string]*huma.MediaType{
			"application/json": {Schema: a.schema(reflect.TypeFor[apitypes.SpendSums]())},
			"text/csv":         {Schema: &huma.Schema{Type: huma.TypeString}}}}}}, h.spend)
}

func (h agentHandler) spend(ctx context.Context, in *spendIn) (*huma.StreamResponse, error) {
	since, err := parseTime("since", in.Since)
	if err != nil {
		return nil, err
	}
	keys := apitypes.SpendKeysOf(in.By)
	if len(in.By) == 0 {
		keys = apitypes.SpendKeysOf([]string{"plan"})
	}
	sums, err := h.providers.Spend(ctx, actorOf(ctx), app.SpendQuery{Since: since, Period: spendPeriods[in.Period], By: keys,
		Label: in.Label})
	if err != nil {
		return nil, err
	}
	accept := infoOf(ctx).request.Header.Get("Accept")
	if in.Format == "csv" || in.Format == "" && strings.Contains(strings.ToLower(accept), "text/csv") {
		return h.spendCSV(keys, sums.Items), nil
	}
	page, err := pageOf(ctx, h.kernel, &in.ListIn, sums.Items, spendID, apitypes.SpendOf)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		hctx.SetHeader("Vary", "Accept")
		h.writeJSON(hctx, http.StatusOK, apitypes.SpendSums{List: page, Since: sums.Since, Cut: sums.Cut})
	}}, nil
}

func (h agentHandler) spendCSV(keys domain.SpendKeys, list []domain.Spend) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		hctx.SetHeader("Vary", "Accept")
		hctx.SetHeader("Content-Type", "text/csv; charset=utf-8")
		hctx.SetHeader("Content-Disposition", `attachment; filename="spend.csv"`)
		if err := app.WriteSpendCSV(hctx.BodyWriter(), keys, list); err != nil {
			h.log.Debug("write the spend", "err", err)
		}
	}}
}

// spendID identifies a sum in a list.
func spendID(e domain.Spend) string {
	return strings.Join([]string{e.From.UTC().Format(time.RFC3339), e.PlanKey, e.Agent, e.Provider, e.Model, e.Label}, "\n")
}
