package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

func TestStoredResponses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	begin := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	claim := func(body string, at time.Time) (domain.StoredResponse, bool) {
		t.Helper()
		r, claimed, err := s.ReserveResponse(t.Context(), domain.StoredResponse{Principal: "p", Route: "POST /runs", Key: "k", BodyHash: body, CreatedAt: at}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return r, claimed
	}
	if r, claimed := claim("a", begin); !claimed || !r.CreatedAt.Equal(begin) {
		t.Fatalf("the first claim gives %+v, %v", r, claimed)
	}
	if r, claimed := claim("a", begin.Add(time.Second)); claimed || r.Status != 0 || r.BodyHash != "a" {
		t.Errorf("a second one at once gives %+v, %v", r, claimed)
	}
	// Nobody has answered for long: the same request takes its claim up and derives
	// the same from it.
	if r, claimed := claim("a", begin.Add(2*time.Minute)); !claimed || !r.CreatedAt.Equal(begin) {
		t.Errorf("A44: the same request after a crash gives %+v, %v, want its first claim", r, claimed)
	}
	later := begin.Add(4 * time.Minute)
	if r, claimed := claim("b", later); !claimed || !r.CreatedAt.Equal(later) || r.BodyHash != "b" {
		t.Errorf("another request after a crash gives %+v, %v", r, claimed)
	}
	done := domain.StoredResponse{Principal: "p", Route: "POST /runs", Key: "k", Status: 201, Body: []byte("{}"), Header: map[string]string{"Location": "/x"}}
	if err := s.CompleteResponse(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	if r, claimed := claim("b", later.Add(time.Hour)); claimed || r.Status != 201 || string(r.Body) != "{}" || r.Header["Location"] != "/x" {
		t.Errorf("once answered it gives %+v, %v", r, claimed)
	}
	if err := s.ReleaseResponse(t.Context(), "p", "POST /runs", "k"); err != nil {
		t.Fatal(err)
	}
	if _, claimed := claim("b", later.Add(time.Hour)); claimed {
		t.Error("an answer was given up")
	}
	if err := s.DeleteResponses(t.Context(), later.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, claimed := claim("c", later.Add(2*time.Hour)); !claimed {
		t.Error("an old answer is still there")
	}
}

// A claim that an earlier process left behind is taken up at once: nobody answers
// it any more (A44).
func TestAClaimDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	begin := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	for life := range 3 {
		s, err := store.Open(t.Context(), path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			r, claimed, err := s.ReserveResponse(t.Context(), domain.StoredResponse{Principal: "p", Route: "POST /runs", Key: "k", BodyHash: "a",
				CreatedAt: begin.Add(time.Duration(life) * time.Second)}, time.Minute)
			if err != nil || claimed != (again == 0) || !r.CreatedAt.Equal(begin) {
				t.Errorf("life %d, request %d: %+v, claimed %v, %v", life, again, r, claimed, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
