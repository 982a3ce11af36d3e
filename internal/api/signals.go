package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type (
	signalsIn struct {
		PageIn
		Filter string              `query:"filter" maxLength:"256" doc:"Part of the name."`
		Status domain.SignalStatus `query:"status" enum:"waiting,matched,unmatched" doc:"unmatched: expired without a wait; absent: all."`
	}
	signalsOut struct {
		Body apitypes.List[apitypes.Signal]
	}
	signalWaitsIn struct {
		PageIn
		Filter string `query:"filter" maxLength:"256" doc:"Part of the name."`
	}
	signalWaitsOut struct {
		Body apitypes.List[apitypes.SignalWait]
	}
	signalIn struct {
		ID string `path:"id" maxLength:"128" doc:"The signal's id."`
	}
	signalSendIn struct{ Body apitypes.SignalCreate }
	signalOut    struct {
		Status   int
		Location string `header:"Location"`
		Body     apitypes.Signal
	}
)

// signalHandler serves signals.
type signalHandler struct {
	*kernel
	signals *app.Signals
}

func (h signalHandler) routes(a *API) {
	tags := []string{"signals"}
	mount(a, huma.Operation{OperationID: "list-signals", Method: http.MethodGet, Path: "/signals", Tags: tags,
		Summary: "List signals, newest first"}, h.list)
	mount(a, huma.Operation{OperationID: "get-signal", Method: http.MethodGet, Path: "/signals/{id}", Tags: tags,
		Summary: "Get a signal with the waits that it ended"}, h.get)
	mount(a, huma.Operation{OperationID: "list-signal-waits", Method: http.MethodGet, Path: "/signal-waits", Tags: tags,
		Summary: "List the waits of steps for signals, by name"}, h.waits)
	mount(a, huma.Operation{OperationID: "send-signal", Method: http.MethodPost, Path: "/signals", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Send a signal to steps that wait for it",
		Description: "A signal that no step waits for ends the first wait that begins before it expires."}, h.send)
}

func (h signalHandler) list(ctx context.Context, in *signalsIn) (*signalsOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.signals.List(ctx, actorOf(ctx), domain.SignalFilter{Text: in.Filter, Status: in.Status,
		Page: domain.Page{After: after, Limit: in.Limit}})
	if err != nil {
		return nil, err
	}
	return &signalsOut{listOf(list.Items, h.seal(ctx, list.Next), apitypes.SignalOf)}, nil
}

func (h signalHandler) waits(ctx context.Context, in *signalWaitsIn) (*signalWaitsOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.signals.Waits(ctx, actorOf(ctx), domain.WaitFilter{Text: in.Filter, Page: domain.Page{After: after, Limit: in.Limit}})
	if err != nil {
		return nil, err
	}
	return &signalWaitsOut{listOf(list.Items, h.seal(ctx, list.Next), apitypes.SignalWaitOf)}, nil
}

func (h signalHandler) get(ctx context.Context, in *signalIn) (*signalOut, error) {
	s, err := h.signals.Get(ctx, actorOf(ctx), in.ID)
	return &signalOut{Status: http.StatusOK, Body: apitypes.SignalOf(s)}, err
}

func (h signalHandler) send(ctx context.Context, in *signalSendIn) (*signalOut, error) {
	r := app.NewSignal{Meta: meta(ctx), Name: in.Body.Name, Key: in.Body.Key, Data: in.Body.Data, All: in.Body.Deliver == "all"}
	if in.Body.Keep != "" {
		var err error
		if r.Lifetime, err = domain.ParseDuration(in.Body.Keep); err != nil || r.Lifetime <= 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "keep: %q is not a positive duration", in.Body.Keep).Suggest("write it like 1h")
		}
	}
	s, err := h.signals.Send(ctx, r)
	return &signalOut{Status: http.StatusCreated, Location: Base + "/signals/" + s.ID, Body: apitypes.SignalOf(s)}, err
}
