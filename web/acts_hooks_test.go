package web_test

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// hooks are created, changed, paused, resumed, and deleted. A delivery is replayed.
func (s *actionTest) hooks() {
	s.api("POST /hooks", "/hooks", map[string]any{"key": "orders", "plan": "later", "scheme": "bearer", "secret": "S"})
	s.api("PATCH /hooks/{id}", "/hooks/orders", map[string]any{"filter": "true"})
	s.api("POST /hooks/{id}/pause", "/hooks/orders/pause", map[string]string{"reason": "holidays"})
	s.api("POST /hooks/{id}/resume", "/hooks/orders/resume", map[string]string{"reason": "back"})
	d := domain.HookDelivery{ID: domain.NewID(), HookID: s.hook("orders").ID, Key: "k", State: domain.DeliveryRefused, Verified: true,
		Body: "{}", ReceivedAt: time.Now()}
	if err := s.Store.RecordDelivery(s.t.Context(), d); err != nil {
		s.t.Fatal(err)
	}
	s.api("POST /hooks/{id}/replay", "/hooks/orders/replay", map[string]any{"deliveries": []string{d.ID}})
	s.api("DELETE /hooks/{id}", "/hooks/orders", "")
	const at, form = "/events/hooks/pages", `name="reason"`
	s.page("/events/hooks/new", "/events/hooks/new", `name="secret"`, "key", "pages", "plan", "later", "scheme", "bearer", "secret", "S")
	s.page("/events/hooks/:hook/edit", at+"/edit", `name="secret"`, "plan", "later", "scheme", "bearer", "secret", "S", "filter", "true")
	s.page("/events/hooks/:hook/pause", at+"/pause", form)
	s.page("/events/hooks/:hook/resume", at+"/resume", form)
	d.HookID, d.ID = s.hook("pages").ID, domain.NewID()
	if err := s.Store.RecordDelivery(s.t.Context(), d); err != nil {
		s.t.Fatal(err)
	}
	s.page("/events/hooks/:hook/replay", at+"/replay?status=refused", `name="digest"`)
	s.page("/events/hooks/:hook/delete", at+"/delete", form)
	s.page("/events/signals/new", "/events/signals/new?name=paid.43", `name="keep"`, "name", "paid.43", "data", "[1]")
}

func (s *actionTest) hook(key string) domain.Hook {
	s.t.Helper()
	x, err := s.Store.Hook(s.t.Context(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

// confirmed confirms an action that an MCP client previewed.
func (s *actionTest) confirmed(run string) {
	p, err := s.App.Runs.Preview(s.t.Context(), s.Admin, domain.ActionRequest{Run: run, Action: domain.ActionRerun})
	if err != nil {
		s.t.Fatal(err)
	}
	s.page("/runs/:run/confirm", "/runs/"+run+"/confirm?action=rerun&digest="+p.Digest, `name="digest"`,
		"reason", "why not")
	s.page("/runs/:run/confirm", "/runs/"+run+"/confirm?action=rerun&digest="+p.Digest, `name="digest"`,
		"do", "refuse", "reason", "why not")
}
