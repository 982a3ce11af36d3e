package store_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
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

// An action that changes a setting commits together with its audit record.
func TestSettingsOfPeopleAreAudited(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	if err := s.SetSettingAs(t.Context(), "stopped", "{}",
		domain.AuditRecord{Action: "tool.accept", Actor: "ana", Object: "tool:crm.find",
			Detail: domain.RawJSON(`{"digest":"d"}`)}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Setting(t.Context(), "stopped"); err != nil || got != "{}" {
		t.Errorf("%q %v", got, err)
	}
	list, err := s.AuditEvents(t.Context(), domain.AuditFilter{Actor: "ana"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Action != "tool.accept" || string(list.Items[0].Detail) != `{"digest":"d"}` {
		t.Errorf("%+v %v", list.Items, err)
	}
}
