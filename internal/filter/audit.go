package filter

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/suggest"
)

// AuditKeys lists the keys of the audit log's filter in the order of the help.
var AuditKeys = []string{"actor", "action", "object", "result", "source", "ip", "request", "run", "since", "until"}

// auditAliases maps other words to keys.
var auditAliases = map[string]string{"by": "actor", "who": "actor", "from": "ip", "address": "ip", "about": "object"}

// auditObjects are keys for a kind of object: plan:invoice is short for object:plan:invoice.
var auditObjects = []string{
	"plan",
	"user",
	"token",
	"tool",
	"bulk",
	"approval",
	"backup",
	"mcp",
	"memory",
	"channel",
	"view",
	"agent",
	"provider",
	"secret",
	"draft",
}

// AuditResults and AuditSources list the valid values.
var (
	AuditResults = []string{"ok", "denied", "failed"}
	AuditSources = []string{"ui", "api", "cli", domain.SourceMCP, domain.SourceA2A, "engine"}
)

// ParseAudit parses a query of the audit log with the syntax of [Parse]: spaces mean AND, commas
// OR, a leading dash NOT. A value of action: or object: that ends with a star is a prefix. A single
// word is a run's ID if it has that form, an action if it contains a dot, and an actor otherwise.
// The caller looks up the run.
func ParseAudit(q string, now time.Time) (f domain.AuditFilter, problem *domain.Error) {
	if len(q) > 4096 {
		return f, domain.Errorf(domain.CodeInvalid, "the filter is longer than 4096 characters")
	}
	if !utf8.ValidString(q) {
		return f, domain.Errorf(domain.CodeInvalid, "the filter is not UTF-8")
	}
	f.Query = q
	for _, t := range split(q) {
		if t.key == "" {
			t.key = bareAudit(t.value)
		}
		if slices.Contains(auditObjects, t.key) {
			t.key, t.value = "object", t.key+":"+t.value
		}
		if k, ok := auditAliases[t.key]; ok {
			t.key = k
		}
		if problem := readAudit(&f, t, now); problem != nil {
			return f, problem
		}
	}
	return f, nil
}

func bareAudit(v string) string {
	switch {
	case domain.ValidID(v) || len(v) == 4 && strings.Trim(v, "0123456789abcdefghjkmnpqrstvwxyz") == "" && strings.ContainsAny(v,
		"0123456789"):
		return "run"
	case strings.Contains(v, "."):
		return "action"
	}
	return "actor"
}

func readAudit(f *domain.AuditFilter, t term, now time.Time) *domain.Error {
	if t.value == "" {
		return domain.Errorf(domain.CodeInvalid, "%s: requires a value", t.key)
	}
	x := &f.Exclude
	switch t.key {
	case "actor":
		return choose(t, &f.Actors, &x.Actors, nil)
	case "action":
		return choose(t, &f.Actions, &x.Actions, domain.AuditActions)
	case "object":
		return choose(t, &f.Objects, &x.Objects, nil)
	case "result":
		values := strings.Split(t.value, ",")
		for i, v := range values {
			if v == "succeeded" { // the word for ok on pages
				values[i] = "ok"
			}
		}
		t.value = strings.Join(values, ",")
		return choose(t, &f.Results, &x.Results, AuditResults)
	case "source":
		return choose(t, &f.Sources, &x.Sources, AuditSources)
	case "ip":
		return choose(t, &f.Addresses, &x.Addresses, nil)
	case "request":
		return choose(t, &f.Requests, &x.Requests, nil)
	case "run":
		if t.not || f.Run != "" {
			return domain.Errorf(domain.CodeInvalid, "run: takes one run and cannot be negated")
		}
		f.Run = t.value
	case "since", "until":
		at, err := Moment(t.value, now)
		if err != nil || t.not {
			return domain.Errorf(domain.CodeInvalid, "%s:%s is not a time", t.key, t.value).Suggest("write 24h, 7d or 2030-01-31T08:00")
		}
		if t.key == "since" {
			f.Since = at
		} else {
			f.Until = at
		}
	default:
		e := domain.Errorf(domain.CodeInvalid, "unknown filter %q", t.key)
		if near := suggest.Nearest(t.key, slices.Concat(AuditKeys, slices.Collect(maps.Keys(auditAliases)), auditObjects)); near != "" {
			return e.Suggest("did you mean %s:%s?", near, t.value)
		}
		return e.Suggest("filters: %s", strings.Join(AuditKeys, ", "))
	}
	return nil
}

// choose parses a list of values, or with a dash a list of excluded values. known, if not nil,
// lists the valid values.
func choose(t term, anyOf, none *[]string, known []string) *domain.Error {
	values := slices.DeleteFunc(strings.Split(t.value, ","), func(v string) bool { return v == "" })
	switch {
	case len(values) == 0:
		return domain.Errorf(domain.CodeInvalid, "%q has an empty value", t.value)
	case len(values) > 50:
		return domain.Errorf(domain.CodeInvalid, "a key accepts at most 50 values")
	case !t.not && len(*anyOf) > 0:
		return domain.Errorf(domain.CodeInvalid, "the key of %q is used twice", t.value).
			Suggest("separate alternatives with commas")
	}
	for _, v := range values {
		begin, star := strings.CutSuffix(v, "*")
		if known == nil || slices.Contains(known, v) ||
			star && slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, begin) }) {
			continue
		}
		e := domain.Errorf(domain.CodeInvalid, "unknown %s %q", t.key, v)
		if near := suggest.Nearest(v, known); near != "" {
			return e.Suggest("did you mean %s:%s?", t.key, near)
		}
		if t.key == "action" && strings.Contains(begin, ".") {
			continue // another version of kairosd may have recorded it
		}
		if len(known) > 10 {
			return e.Suggest("kairos audit --help lists them; %s:run.* matches all that begin with run.", t.key)
		}
		return e.Suggest("write one of: %s", strings.Join(known, ", "))
	}
	if t.not {
		*none = append(*none, values...)
	} else {
		*anyOf = values
	}
	return nil
}
