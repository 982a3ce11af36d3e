package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/domain"
)

// Paths of the servers of protocols, outside of [Base].
const (
	MCPPath     = "/mcp"
	A2APath     = "/a2a"
	A2ACardPath = "/.well-known/agent-card.json"
)

// Protocol serves programs that call plans: clients of MCP or A2A.
type Protocol interface {
	Serve(w http.ResponseWriter, r *http.Request, m ProtocolRequest)
}

// ProtocolRequest is a request that was admitted.
type ProtocolRequest struct {
	By   domain.Actor
	Body []byte
	// Origin is the address of the dashboard as the client addressed it, or empty.
	Origin string
	// Waits ends when the client leaves and when the API closes. Calls that wait then answer.
	Waits context.Context
}

// closeGrace is the time in which calls answer after the API closes. Requests that have not ended then are
// cut off.
const closeGrace = 2 * time.Second

// protocol returns the server of a path outside of [Base], and the source of its actions. It is nil if there
// is none.
func (a *API) protocol(path string) (p Protocol, source string) {
	switch {
	case path == MCPPath && a.MCP != nil:
		return a.MCP, domain.SourceMCP
	case (path == A2APath || path == A2ACardPath) && a.A2A != nil:
		return a.A2A, domain.SourceA2A
	}
	return nil, ""
}

// protocolRoutes pass requests to the servers of protocols, within the limits of the API: the size of a body,
// and the number of open requests of a principal.
func (a *API) protocolRoutes() {
	for _, path := range []string{MCPPath, A2APath, A2ACardPath} {
		if p, _ := a.protocol(path); p != nil {
			a.protocolRoute(path, p)
		}
	}
}

func (a *API) protocolRoute(path string, p Protocol) {
	a.echo.Any(path, func(c echo.Context) error {
		w, r := c.Response(), c.Request()
		info := infoOf(r.Context())
		if a.foreignOrigin(r) {
			return domain.Errorf(domain.CodeForbidden, "the request comes from a page of another server")
		}
		if err := info.streams.Enter(info.actor.Name); err != nil {
			return err
		}
		defer info.streams.Leave(info.actor.Name)
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every connection can
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			return bodyError(err, maxBody)
		}
		if len(body) > 0 {
			if problem := checkJSON(body); problem != nil {
				return problem
			}
		}
		_ = control.SetReadDeadline(time.Time{})
		_ = control.SetWriteDeadline(time.Now().Add(a.Recheck + a.WriteTimeout))
		defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
		ctx, cancel := context.WithTimeout(r.Context(), a.Recheck) // the next request checks the credential again
		defer cancel()
		waits, end := context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(a.stop, func() {
			end()
			time.AfterFunc(closeGrace, cancel)
		})()
		a.open.Add(1)
		defer a.open.Done()
		origin := ""
		if r.Host != "" && !info.local {
			origin = a.ownOrigin(r)
		}
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.Serve(w, r, ProtocolRequest{info.actor, body, origin, waits})
		return nil
	})
}

// programCaller prepares the principal of a request to the server of a protocol. A session of a browser is
// none: it belongs to a person, and not to a program.
func programCaller(r *http.Request, local bool, by domain.Actor, source string) (domain.Actor, error) {
	if !local && len(r.Header["Authorization"]) == 0 {
		return domain.Actor{}, unauthorized("send an API token as: Authorization: Bearer TOKEN")
	}
	by.Source = source
	return by, nil
}
