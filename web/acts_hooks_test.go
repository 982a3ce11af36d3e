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
	x, err := s.Store.Hook(s.t.Context(), "orders")
	if err != nil {
		s.t.Fatal(err)
	}
	d := domain.HookDelivery{ID: domain.NewID(), HookID: x.ID, Key: "k", State: domain.DeliveryRefused, Verified: true, Body: "{}",
		ReceivedAt: time.Now()}
	if err := s.Store.RecordDelivery(s.t.Context(), d); err != nil {
		s.t.Fatal(err)
	}
	s.api("POST /hooks/{id}/replay", "/hooks/orders/replay", map[string]any{"deliveries": []string{d.ID}})
	s.api("DELETE /hooks/{id}", "/hooks/orders", "")
}
