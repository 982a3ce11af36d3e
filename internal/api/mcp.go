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

// MCPPath is the path of the MCP server, outside of [Base].
const MCPPath = "/mcp"

// MCP serves clients of the Model Context Protocol.
type MCP interface {
	Serve(w http.ResponseWriter, r *http.Request, m MCPRequest)
}

// MCPRequest is a request that was admitted.
type MCPRequest struct {
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

// mcpRoute passes requests of the MCP server on, within the limits of the API: the size of a body, and the
// number of open requests of a principal.
func (a *API) mcpRoute() {
	if a.MCP == nil {
		return
	}
	a.echo.Any(MCPPath, func(c echo.Context) error {
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
			if p := checkJSON(body); p != nil {
				return p
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
		a.MCP.Serve(w, r, MCPRequest{info.actor, body, origin, waits})
		return nil
	})
}

// mcpCaller prepares the principal of a request to the MCP server. A session of a browser is none: it
// belongs to a person, and not to a program.
func mcpCaller(r *http.Request, local bool, by domain.Actor) (domain.Actor, error) {
	if !local && len(r.Header["Authorization"]) == 0 {
		return domain.Actor{}, unauthorized("send an API token as: Authorization: Bearer TOKEN")
	}
	by.Source = domain.SourceMCP
	return by, nil
}

// isMCP reports whether the MCP server answers a path.
func (a *API) isMCP(path string) bool { return a.MCP != nil && path == MCPPath }
