package store_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/store/storetest"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for _, want := range []string{"", "one", "two"} {
		if want != "" {
			if err := s.SetSetting(t.Context(), "test/key", want); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Setting(t.Context(), "test/key"); err != nil || got != want {
			t.Errorf("got %q %v, want %q", got, err, want)
		}
	}
}
