// Package a2aserver serves clients of the Agent2Agent protocol (A2A): plans are skills, and a run is a task.
// It is an adapter of internal/app, like internal/mcpserver. It stores nothing: the id of a task is that of
// its run, and the id of a message is the idempotency key of the run that it starts.
package a2aserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/log"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// Config configures a [Server]. App is required.
type Config struct {
	App *app.App
	// URL returns the configured address of the dashboard. If it is nil or returns an empty text, addresses
	// are those that the client used.
	URL     func() string
	Version string
	Log     *slog.Logger
	// Wait is the longest time that a message waits for the end of its run. The default is 20 seconds.
	Wait time.Duration
}

// Server answers requests of A2A clients.
type Server struct{ Config }

// New returns a server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Wait = cmp.Or(c.Wait, 20*time.Second)
	return &Server{c}
}

// Serve answers a request of a principal: a call, or a request for the agent card.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, m api.ProtocolRequest) {
	c := &session{Server: s, by: m.By, base: strings.TrimSuffix(m.Origin, "/"), ctx: m.Waits}
	if s.URL != nil {
		c.base = strings.TrimSuffix(cmp.Or(s.URL(), m.Origin), "/")
	}
	r = r.WithContext(log.AttachLogger(r.Context(), s.Log))
	if r.URL.Path == api.A2ACardPath {
		card, err := c.card(r.Context())
		if err != nil {
			s.Log.Error("build the card for an A2A client", "client", m.By.Name, "err", err)
			http.Error(w, "cannot list the skills", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(card) // the client may be gone
		return
	}
	a2asrv.NewJSONRPCHandler(c, a2asrv.WithTransportPanicHandler(func(v any) error {
		s.Log.Error("panic while answering an A2A client", "panic", v, "stack", string(debug.Stack()))
		return a2a.ErrInternalError
	})).ServeHTTP(w, r)
}

// session is one request of a client.
type session struct {
	*Server
	by   domain.Actor
	base string          // address of the dashboard, without a slash at the end; may be empty
	ctx  context.Context // of waits; see api.ProtocolRequest
}

var _ a2asrv.RequestHandler = (*session)(nil)

// scheme is the name of the security scheme in the card.
const scheme = a2a.SecuritySchemeName("token")

// card describes the server. Its skills are the plans that the principal may call.
func (c *session) card(ctx context.Context) (*a2a.AgentCard, error) {
	list, err := c.App.PlanTools.List(ctx, c.by)
	if err != nil && domain.CodeOf(err) != domain.CodeForbidden {
		return nil, err
	}
	skills := []a2a.AgentSkill{}
	for _, t := range list {
		skills = append(skills, a2a.AgentSkill{ID: t.Plan.Key, Name: cmp.Or(t.Plan.Name, t.Plan.Key), Tags: []string{"plan"},
			Description: cmp.Or(t.Plan.Description, t.Plan.Name, "Runs the plan "+t.Plan.Key+".") + schemaText(t.Input)})
	}
	return &a2a.AgentCard{
		Name: "kairosd", Version: cmp.Or(c.Version, "0"), Skills: skills,
		Description: "Runs plans durably. Each plan that its author exposes is a skill. Name it in the metadata of the message: " +
			skillKey + ". A task is a run. It continues when the client leaves.",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(c.base+api.A2APath, a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: true, ExtendedAgentCard: true},
		DefaultInputModes:   []string{"application/json", "text/plain"}, DefaultOutputModes: []string{"application/json", "text/plain"},
		SecuritySchemes:      a2a.NamedSecuritySchemes{scheme: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{scheme: a2a.SecuritySchemeScopes{}}},
	}, nil
}

// schemaText appends the input schema to the description of a skill, because a card has no field for it.
func schemaText(input any) string {
	if input == nil {
		return ""
	}
	text, err := json.Marshal(input)
	if err != nil || len(text) > maxSchema {
		return ""
	}
	return " Input: " + string(text)
}

// maxSchema is the maximum size of an input schema in a card.
const maxSchema = 4 << 10

// page returns the address of a page of the dashboard, or "" if it is not known.
func (c *session) page(path string) string {
	if c.base == "" {
		return ""
	}
	return c.base + path
}

// failed returns a refusal as an error of the protocol. The log has the text of internal errors.
func (c *session) failed(err error) error {
	e, known := errors.AsType[*domain.Error](err)
	if !known || e.Code == domain.CodeInternal {
		c.Log.Error("an operation of an A2A client failed", "client", c.by.Name, "err", err)
		return a2a.ErrInternalError
	}
	text := e.Message
	if e.Suggestion != "" {
		text += ". " + e.Suggestion
	}
	as := map[domain.Code]error{domain.CodeInvalid: a2a.ErrInvalidParams, domain.CodeForbidden: a2a.ErrUnauthorized,
		domain.CodeNotFound: a2a.ErrTaskNotFound}[e.Code]
	if as == nil {
		as = a2a.ErrServerError
	}
	return fmt.Errorf("%s: %w", text, as)
}
