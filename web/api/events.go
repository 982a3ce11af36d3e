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

	"github.com/kairosd/kairosd/internal/kairos"
)

// Events is a part of the stored events of a run.
type Events struct {
	Items []kairos.Event `json:"items"`
	Next  *int64         `json:"next" doc:"after of the next part; null when there was no more."`
}

const streamText = "Each event has the id INCARNATION-SEQ; to go on after a break, present the last one as Last-Event-ID or ?after=. " +
	"An id of another life of the database, or of the future, gives an event reset, after which the client reads afresh. " +
	"A listener that does not keep up gets reset, and the stream ends."

func (a *API) eventRoutes() {
	tags := []string{"events"}
	stream := func() map[string]*huma.MediaType {
		return map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	register(a, huma.Operation{OperationID: "stream-events", Method: http.MethodGet, Path: "/events", Tags: tags,
		Summary: "All events as they happen (server-sent events)", Description: streamText + " Without a position it begins now.",
		Responses: map[string]*huma.Response{"200": {Description: "Events", Content: stream()}}},
		func(ctx context.Context, in *streamIn) (*huma.StreamResponse, error) { return a.stream(ctx, in, "") })

	both := stream()
	both["application/json"] = &huma.MediaType{Schema: a.schema(reflect.TypeFor[Events]())}
	register(a, huma.Operation{OperationID: "get-run-events", Method: http.MethodGet, Path: "/runs/{id}/events", Tags: tags,
		Summary:     "A run's events, as JSON, or with Accept: text/event-stream as they happen",
		Description: streamText + " Without a position it begins with the run.",
		Responses:   map[string]*huma.Response{"200": {Description: "Events", Content: both}}}, a.runEvents)

	register(a, huma.Operation{OperationID: "socket", Method: http.MethodGet, Path: "/ws", Tags: tags,
		Summary:     "All events as they happen (WebSocket)",
		Description: "The same events as /events, one JSON object per text message. " + streamText,
		Responses:   map[string]*huma.Response{"101": {Description: "Switching protocols"}}}, a.socket)
}

type streamIn struct {
	After       string `query:"after" maxLength:"128" doc:"An event's id or number: begin after it."`
	LastEventID string `header:"Last-Event-ID" maxLength:"128"`
	Run         string `query:"run" maxLength:"64" doc:"Only events of this run."`
}

type runEventsIn struct {
	RunIn
	After       string `query:"after" maxLength:"128" doc:"An event's id or number: begin after it."`
	LastEventID string `header:"Last-Event-ID" maxLength:"128"`
	Limit       int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"Of the JSON answer."`
}

func (a *API) runEvents(ctx context.Context, in *runEventsIn) (*huma.StreamResponse, error) {
	run, err := a.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if wantsStream(infoOf(ctx).request) {
		return a.stream(ctx, &streamIn{After: in.After, LastEventID: in.LastEventID, Run: run.ID}, "0")
	}
	from, err := a.position(ctx, in.LastEventID, in.After, "0")
	if err != nil {
		return nil, err
	}
	if from.reset {
		return nil, invalid("event.unknown", "this event id is not of this database")
	}
	events, upto, err := a.Engine.Events(ctx, from.after, run.ID, in.Limit)
	if err != nil {
		return nil, err
	}
	body := Events{Items: events}
	if events == nil {
		body.Items = []kairos.Event{}
	}
	more, err := a.Reader.EventsAfter(ctx, upto, run.ID, 1)
	if err != nil {
		return nil, err
	}
	if len(more) > 0 {
		body.Next = &upto
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		hctx.SetHeader("Vary", "Accept")
		a.writeJSON(hctx, http.StatusOK, body)
	}}, nil
}

func wantsStream(r *http.Request) bool {
	return strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/event-stream")
}

// from is where a stream begins.
type from struct {
	after int64
	reset bool // the listener asked for what is not there
}

// position reads an event id "INCARNATION-SEQ" or a number. What is not of this
// life of the database, or in its future, becomes a reset (ruling 26).
func (a *API) position(ctx context.Context, header, query, otherwise string) (from, error) {
	text := header
	if text == "" {
		text = query
	}
	if text == "" {
		text = otherwise
	}
	last, err := a.Reader.LastEvent(ctx)
	if err != nil || text == "" {
		return from{after: last}, err
	}
	incarnation, seq := "", text
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		incarnation, seq = text[:i], text[i+1:]
	}
	n, err := strconv.ParseUint(seq, 10, 63)
	if err != nil {
		return from{}, invalid("event.malformed", "%.64q is no event id", text)
	}
	if incarnation != "" && incarnation != a.Engine.Incarnation() || int64(n) > last {
		return from{after: last, reset: true}, nil
	}
	return from{after: int64(n)}, nil
}

// begin takes one of the places for streams and subscribes.
func (a *API) begin(ctx context.Context, f from, run string) (events <-chan kairos.Event, end func(), err error) {
	streams := infoOf(ctx).streams
	select {
	case streams <- struct{}{}:
	default:
		e := kairos.Errorf(kairos.CodeUnavailable, "too many event streams are open").Suggest("try again in a moment")
		e.RetryAfter = 5 * time.Second
		return nil, nil, e
	}
	ctx, cancel := context.WithCancel(ctx)
	stopWatching := context.AfterFunc(a.stop, cancel)
	events, err = a.Engine.Subscribe(ctx, f.after, run)
	if err != nil {
		cancel()
		stopWatching()
		<-streams
		return nil, nil, err
	}
	a.open.Add(1)
	return events, func() {
		cancel()
		stopWatching()
		<-streams
		a.open.Done()
	}, nil
}

// resetEvent tells a listener to read afresh; its id is where it stands then.
func (a *API) resetEvent(after int64) kairos.Event {
	return kairos.Event{ID: a.Engine.Incarnation() + "-" + strconv.FormatInt(after, 10), Seq: after, Type: "reset", At: time.Now().UTC()}
}

// stillAllowed asks again for the principal of a stream that stays open.
func (a *API) stillAllowed(ctx context.Context, info *requestInfo, n need) bool {
	actor, err := info.check(ctx)
	if err == nil {
		err = n.allow(actor)
	}
	return err == nil
}

// stream answers with server-sent events.
func (a *API) stream(ctx context.Context, in *streamIn, otherwise string) (*huma.StreamResponse, error) {
	info := infoOf(ctx)
	if foreignOrigin(info.request) {
		return nil, kairos.Errorf(kairos.CodeForbidden, "pages of other sites may not listen")
	}
	run := in.Run
	if run != "" && otherwise == "" {
		found, err := a.findRun(ctx, run)
		if err != nil {
			return nil, err
		}
		run = found.ID
	}
	f, err := a.position(ctx, in.LastEventID, in.After, otherwise)
	if err != nil {
		return nil, err
	}
	if info.head {
		return &huma.StreamResponse{Body: func(hctx huma.Context) { hctx.SetHeader("Content-Type", "text/event-stream") }}, nil
	}
	events, end, err := a.begin(ctx, f, run)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer end()
		route := hctx.Operation().Method + " " + hctx.Operation().Path
		s := &sse{w: humaecho.Unwrap(hctx).Response(), timeout: a.WriteTimeout}
		s.open()
		defer s.close()
		if f.reset {
			s.send(a.resetEvent(f.after))
		}
		alive := time.NewTicker(a.Heartbeat)
		defer alive.Stop()
		recheck := time.NewTicker(a.Recheck)
		defer recheck.Stop()
		for s.err == nil {
			select {
			case <-ctx.Done():
				return
			case <-a.stop.Done():
				return
			case e, ok := <-events:
				if !ok {
					return
				}
				s.send(e)
				for n := len(events); n > 0 && s.err == nil; n-- {
					if e, ok := <-events; ok {
						s.write(e)
					}
				}
				s.flush()
			case <-alive.C:
				s.comment("alive")
			case <-recheck.C:
				if !a.stillAllowed(ctx, info, access[route]) {
					return
				}
			}
		}
	}}, nil
}
