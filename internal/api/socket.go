package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// socket serves a WebSocket with the same events as /events, one JSON object per message. It reads
// only control frames of the client.
func (h eventHandler) socket(ctx context.Context, in *streamIn) (*huma.StreamResponse, error) {
	info := infoOf(ctx)
	if h.foreign(info.request) {
		return nil, domain.Errorf(domain.CodeForbidden, "pages of other sites cannot open event streams")
	}
	if info.head || info.request.Header.Get("Upgrade") == "" {
		return nil, problemOf(http.StatusUpgradeRequired, "this address requires a WebSocket connection")
	}
	run := ""
	if in.Run != "" {
		found, err := h.runs.Find(ctx, actorOf(ctx), in.Run)
		if err != nil {
			return nil, err
		}
		run = found.ID
	}
	f, err := h.from(ctx, in.LastEventID, in.After, "")
	if err != nil {
		return nil, err
	}
	events, end, err := h.begin(ctx, f, run)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer end()
		c := humaecho.Unwrap(hctx)
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}) // not every connection can
		conn, err := websocket.Accept(c.Response(), c.Request(), nil)              // checks the Origin again
		if err != nil {
			h.log.Debug("accept a websocket", "err", err)
			return
		}
		defer func() { _ = conn.CloseNow() }() // a second close returns an error, which has no effect
		h.serve(conn.CloseRead(ctx), conn, info, f, events)
	}}, nil
}

func (h eventHandler) serve(ctx context.Context, conn *websocket.Conn, info *requestInfo, f from, events <-chan domain.Event) {
	var err error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.stop, cancel)() // ends a wait for a silent peer
	if f.reset && h.sendEvent(ctx, conn, h.resetEvent(f.after)) != nil {
		return
	}
	alive := time.NewTicker(h.Heartbeat)
	defer alive.Stop()
	recheck := time.NewTicker(h.Recheck)
	defer recheck.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case e, ok := <-events:
			if !ok && h.stop.Err() == nil {
				_ = conn.Close(websocket.StatusTryAgainLater, "read your data again")
				return
			}
			if err = ctx.Err(); ok && !f.received(e) {
				err = h.sendEvent(ctx, conn, e)
			}
		case <-alive.C:
			pinging, cancel := context.WithTimeout(ctx, h.WriteTimeout)
			err = conn.Ping(pinging)
			cancel()
		case <-recheck.C:
			if !h.stillAllowed(ctx, info, app.OpenSocket) {
				_ = conn.Close(websocket.StatusPolicyViolation, "you are no longer permitted to read events")
				return
			}
		}
	}
	if h.stop.Err() != nil {
		_ = conn.Close(websocket.StatusGoingAway, "kairosd is stopping")
		return
	}
	h.log.Debug("websocket ends", "err", err)
}

func (h eventHandler) sendEvent(ctx context.Context, conn *websocket.Conn, e domain.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, h.WriteTimeout)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, data)
}
