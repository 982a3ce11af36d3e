package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

var noon = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// Queries of the audit log are parsed.
func TestParseAudit(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]domain.AuditFilter{
		"":                            {},
		"actor:marta,ana":             {Actors: []string{"marta", "ana"}},
		"result:failed,succeeded":     {Results: []string{"failed", "ok"}},
		"provider:claude":             {Objects: []string{"provider:claude"}},
		`actor:"token ci" -result:ok`: {Actors: []string{"token ci"}, Exclude: domain.AuditExclusion{Results: []string{"ok"}}},
		"action:run.* -action:run.status result:denied,failed": {Actions: []string{"run.*"}, Results: []string{"denied", "failed"},
			Exclude: domain.AuditExclusion{Actions: []string{"run.status"}}},
		"object:plan:invoice":                {Objects: []string{"plan:invoice"}},
		"plan:invoice":                       {Objects: []string{"plan:invoice"}},
		"source:api ip:::1":                  {Sources: []string{"api"}, Addresses: []string{"::1"}},
		"from:10.0.0.7 request:ab":           {Addresses: []string{"10.0.0.7"}, Requests: []string{"ab"}},
		"run:7qx2 since:1h until:2030-01-31": {Run: "7qx2", Since: noon.Add(-time.Hour), Until: noon.Add(-12 * time.Hour)},
		"7qx2":                               {Run: "7qx2"},
		"run.fork":                           {Actions: []string{"run.fork"}},
		"marta":                              {Actors: []string{"marta"}},
		"-run.fork":                          {Exclude: domain.AuditExclusion{Actions: []string{"run.fork"}}},
	} {
		got, problem := filter.ParseAudit(q, noon)
		want.Query = q
		if problem != nil {
			t.Errorf("%q: %v", q, problem)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", q, d)
		}
	}
}

// The error of an invalid query names the invalid part, and suggests a similar valid one.
func TestParseAuditRefuses(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"akter:marta":                       "did you mean actor:marta?",
		"result:denid":                      "did you mean result:denied?",
		"action:run.frok":                   "did you mean action:run.fork?",
		"source:web":                        "write one of: ui, api, cli, mcp, a2a, engine",
		"since:yesterday":                   "write 24h, 7d or 2030-01-31T08:00",
		"action:zzz":                        "kairos audit --help lists them",
		"actor:":                            "",
		"actor:a actor:b":                   "commas",
		"-run:7qx2":                         "",
		"frobnicate:1":                      "filters: actor",
		"-since:1h":                         "",
		"run:7qx2 run:8qx2":                 "",
		"actor:" + strings.Repeat("a,", 60): "",
	} {
		_, problem := filter.ParseAudit(q, noon)
		if problem == nil || !strings.Contains(problem.Suggestion, want) {
			t.Errorf("%q: %v, want a suggestion with %q", q, problem, want)
		}
	}
}

func FuzzParseAudit(f *testing.F) {
	f.Add(`actor:"a b",c -action:run.* since:1h 7qx2`)
	f.Fuzz(func(t *testing.T, q string) {
		if _, problem := filter.ParseAudit(q, noon); problem != nil && problem.Message == "" {
			t.Error("a problem without words")
		}
	})
}
