package domain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestLimitsOnTheWire(t *testing.T) {
	t.Parallel()
	l := domain.Limits{MaxSteps: 5, MaxDuration: 90 * time.Second, MaxTokens: 7, MaxCost: 0.5}
	if got, err := domain.ViewLimits(l).Limits(); err != nil || got != l {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []domain.LimitsView{{MaxDuration: "soon"}, {MaxDuration: "-1s"}, {MaxSteps: -1}, {MaxCost: -0.1}} {
		if _, err := bad.Limits(); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+v is accepted (%v)", bad, err)
		}
	}
}

func TestDecisionsOf(t *testing.T) {
	t.Parallel()
	e := done("a", 1, `1`)
	e.Seq, e.Decision = 2, domain.RawJSON(`{"edge":1,"to":"b","evaluated":[{"to":"b","condition":"last == 1","result":"true","saw":"1"}]}`)
	got, err := json.Marshal(domain.DecisionsOf([]domain.Entry{{Kind: domain.EntryIntent}, e, done("b", 1, `2`)}))
	want := `[{"seq":2,"node":"a","visit":1,"item":-1,"at":"0001-01-01T00:00:00Z","edge":1,"to":"b",` +
		`"evaluated":[{"to":"b","condition":"last == 1","result":"true","saw":"1"}]}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestDurationsAreWrittenInGoOrISO(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "PT90S": 90 * time.Second, "PT1H30M": 90 * time.Minute,
		"P30D": 30 * 24 * time.Hour, "P1W": 7 * 24 * time.Hour, "P1DT12H": 36 * time.Hour} {
		if got, err := domain.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "soon", "P1Y", "PT99999999999H"} {
		if got, err := domain.ParseDuration(text); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}
