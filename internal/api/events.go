package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// EventPage is a page of the stored events of a run.
type EventPage = apitypes.List[EventView]

const streamText = "Each event is a flat JSON object as in the schema Event. To continue after a break, send the last eventId as " +
	"Last-Event-ID or ?after=. Ids of ephemeral events are not positions. After an unknown id, the stream sends an event reset, " +
	"and the client must read its data again. A client that is too slow also receives reset, and the stream ends."

// eventHandler serves streams of events.
type eventHandler struct {
	*kernel
	*lifetime
	*Config
	runs *app.Runs
	// foreign reports whether a page of another site sent the request.
	foreign func(r *http.Request) bool
}

func (h eventHandler) routes(a *API) {
	tags := []string{"events"}
	stream := func() map[string]*huma.MediaType {
		event := a.schema(reflect.TypeFor[EventView]())
		return map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString,
			Extensions: map[string]any{"contentMediaType": "application/json", "contentSchema": event}}}}
	}
	mount(a, huma.Operation{OperationID: "stream-events", Method: http.MethodGet, Path: "/events", Tags: tags,
		Summary: "Stream all events (server-sent events)", Description: streamText + " Without a position, the stream begins now.",
		Responses: map[string]*huma.Response{"200": {Description: "Events", Content: stream()}}},
		func(ctx context.Context, in *streamIn) (*huma.StreamResponse, error) { return h.stream(ctx, in, "") })

	both := stream()
	both["application/json"] = &huma.MediaType{Schema: a.schema(reflect.TypeFor[EventPage]())}
	mount(a, huma.Operation{OperationID: "get-run-events", Method: http.MethodGet, Path: "/runs/{id}/events", Tags: tags,
		Summary:     "List a run's events, or stream them with Accept: text/event-stream",
		Description: streamText + " Without a position, it begins with the run.",
		Responses:   map[string]*huma.Response{"200": {Description: "Events", Content: both}}}, h.runEvents)

	mount(a, huma.Operation{OperationID: "open-event-socket", Method: http.MethodGet, Path: "/ws", Tags: tags,
		Summary:     "Stream all events (WebSocket)",
		Description: "The same events as /events, one JSON object per text message. " + streamText,
		Responses: map[string]*huma.Response{"101": {Description: "Switching protocols. Each text message is an Event.",
			Extensions: map[string]any{"x-message-schema": a.schema(reflect.TypeFor[EventView]())}}}}, h.socket)
}

type streamIn struct {
	After       string `query:"after" maxLength:"128" doc:"Start after the event with this id or number."`
	LastEventID string `header:"Last-Event-ID" maxLength:"128" doc:"The same as after."`
	Run         string `query:"run" maxLength:"64" doc:"Only events of this run."`
}

type runEventsIn struct {
	RunIn
	After       string `query:"after" maxLength:"128" doc:"For a stream: start after the event with this id or number."`
	LastEventID string `header:"Last-Event-ID" maxLength:"128" doc:"The same as after."`
	LongPageIn
}

func (h eventHandler) runEvents(ctx context.Context, in *runEventsIn) (*huma.StreamResponse, error) {
	run, err := h.runs.Find(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	if wantsStream(infoOf(ctx).request) {
		return h.stream(ctx, &streamIn{After: in.After, LastEventID: in.LastEventID, Run: run.ID}, "0")
	}
	if in.After != "" || in.LastEventID != "" {
		p := invalid("event.stream", "after and Last-Event-ID apply to a stream of events")
		p.Suggestion = "send Accept: text/event-stream, or continue a list with its cursor"
		return nil, p
	}
	from, err := h.position(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	items, next, err := filter.Search(in.Filter, in.Limit, from, func(after int64, limit int) ([]EventView, int64, error) {
		events, upto, err := h.Engine.Events(ctx, after, run.ID, limit)
		if err != nil {
			return nil, 0, err
		}
		items := []EventView{}
		for _, e := range events {
			items = append(items, EventView{e})
		}
		if more, err := h.Reader.EventsAfter(ctx, upto, run.ID, 1); err != nil || len(more) == 0 {
			return items, 0, err
		}
		return items, upto, nil
	})
	if err != nil {
		return nil, err
	}
	body := listOf(items, h.sealPosition(ctx, next), same)
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		hctx.SetHeader("Vary", "Accept")
		h.writeJSON(hctx, http.StatusOK, body)
	}}, nil
}

func wantsStream(r *http.Request) bool {
	return strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/event-stream")
}

// from is the start position of a stream. If record is not 0, it is after event n of that record.
// Otherwise it is after all events of the record before after.
type from struct {
	after  int64
	record int64
	n      int
	reset  bool // the client requested unknown events
}

// received reports whether the client has the event.
func (f from) received(e domain.Event) bool {
	return f.record > 0 && e.Seq == f.record && e.Index <= f.n
}

// position parses an event id, or the number of a record. A position of another generation of the
// database, or in its future, becomes a reset, and the client must read its data again.
func (h eventHandler) from(ctx context.Context, header, query, otherwise string) (from, error) {
	text := header
	if text == "" {
		text = query
	}
	if text == "" {
		text = otherwise
	}
	last, err := h.Reader.LastEvent(ctx)
	if err != nil || text == "" {
		return from{after: last}, err
	}
	generation, seq, n, err := domain.ParseEventID(text)
	switch {
	case err != nil:
		return from{}, invalid("event.malformed", "%w", err)
	case generation != "" && generation != h.Engine.Generation() || seq > last:
		return from{after: last, reset: true}, nil
	case n >= 0 && seq > 0:
		return from{after: seq - 1, record: seq, n: n}, nil
	}
	return from{after: seq}, nil
}

// begin reserves a stream and subscribes.
func (h eventHandler) begin(ctx context.Context, f from, run string) (events <-chan domain.Event, end func(), err error) {
	streams, who := infoOf(ctx).streams, infoOf(ctx).actor.Name
	if err := streams.Enter(who); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stopWatching := context.AfterFunc(h.stop, cancel)
	events, err = h.Engine.Subscribe(ctx, f.after, run)
	if err != nil {
		cancel()
		stopWatching()
		streams.Leave(who)
		return nil, nil, err
	}
	h.open.Add(1)
	return events, func() {
		cancel()
		stopWatching()
		streams.Leave(who)
		h.open.Done()
	}, nil
}

// resetEvent is the event after which a client must read its data again. Its id is the position to
// continue from.
func (h eventHandler) resetEvent(after int64) domain.Event {
	return domain.Event{ID: h.Engine.Generation() + "-" + strconv.FormatInt(after, 10), Seq: after, Type: "reset", At: time.Now().UTC()}
}

// stillAllowed reports whether the principal of an open stream may still read it.
func (h eventHandler) stillAllowed(ctx context.Context, info *requestInfo, op app.Operation) bool {
	actor, err := info.check(ctx)
	if err == nil {
		err = app.Allow(actor, op)
	}
	return err == nil
}

// stream writes server-sent events.
func (h eventHandler) stream(ctx context.Context, in *streamIn, otherwise string) (*huma.StreamResponse, error) {
	info := infoOf(ctx)
	if h.foreign(info.request) {
		return nil, domain.Errorf(domain.CodeForbidden, "pages of other sites cannot open event streams")
	}
	run := in.Run
	if run != "" && otherwise == "" {
		found, err := h.runs.Find(ctx, actorOf(ctx), run)
		if err != nil {
			return nil, err
		}
		run = found.ID
	}
	f, err := h.from(ctx, in.LastEventID, in.After, otherwise)
	if err != nil {
		return nil, err
	}
	if info.head {
		return &huma.StreamResponse{Body: func(hctx huma.Context) { hctx.SetHeader("Content-Type", "text/event-stream") }}, nil
	}
	events, end, err := h.begin(ctx, f, run)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer end()
		s := &sse{w: humaecho.Unwrap(hctx).Response(), timeout: h.WriteTimeout}
		s.open()
		defer s.close()
		if f.reset {
			s.send(h.resetEvent(f.after))
		}
		alive := time.NewTicker(h.Heartbeat)
		defer alive.Stop()
		recheck := time.NewTicker(h.Recheck)
		defer recheck.Stop()
		for s.err == nil {
			select {
			case <-ctx.Done():
				return
			case <-h.stop.Done():
				return
			case e, ok := <-events:
				if !ok {
					return
				}
				if !f.received(e) {
					s.write(e)
				}
				for n := len(events); n > 0 && s.err == nil; n-- {
					if e, ok := <-events; ok && !f.received(e) {
						s.write(e)
					}
				}
				s.flush()
			case <-alive.C:
				s.comment("alive")
			case <-recheck.C:
				if !h.stillAllowed(ctx, info, app.Operation(hctx.Operation().OperationID)) {
					return
				}
			}
		}
	}}, nil
}
