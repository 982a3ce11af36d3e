// Package filter parses the filter language for runs, which pages, the command line, and the API
// share.
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

// plain matches a word that may be the key of a plan.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// term is one part of a query.
type term struct {
	not        bool
	key, value string // key is empty for a single word
}

// reader applies the value of a key to a filter.
type reader func(f *domain.RunFilter, value string, not bool, now time.Time) *domain.Error

// keys maps all keys to their readers.
var keys map[string]reader

// Keys lists the keys in the order of the help.
var Keys = []string{
	"status",
	"waiting",
	"plan",
	"v",
	"step",
	"error",
	"fingerprint",
	"agent",
	"tool",
	"provider",
	"by",
	"trigger",
	"schedule",
	"profile",
	"parent",
	"id",
	"since",
	"until",
	"took",
	"cost",
	"steps",
	"attempt",
	"has",
	"is",
	"bulk",
	"text",
}

// aliases maps other words to keys.
var aliases = map[string]string{"node": "step", "origin": "trigger", "attempts": "attempt", "version": "v"}

func init() {
	keys = map[string]reader{
		"status": readStatus, "waiting": readWaiting, "v": readVersion, "error": readError, "fingerprint": readFingerprint,
		"plan": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) {
			return &f.PlanKey, &f.PlanKeys, &f.Exclude.PlanKeys
		}),
		"step": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) { return &f.Node, &f.Nodes, &f.Exclude.Nodes }),
		"by": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) {
			return &f.Actor, &f.Actors, &f.Exclude.Actors
		}),
		"trigger": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) {
			return &f.Origin, &f.Origins, &f.Exclude.Origins
		}),
		"agent": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) { return nil, &f.Agents, &f.Exclude.Agents }),
		"tool":  choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) { return nil, &f.Tools, &f.Exclude.Tools }),
		"provider": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) {
			return nil, &f.Providers, &f.Exclude.Providers
		}),
		"parent": text(
			func(f *domain.RunFilter, v string) { f.Parent = v },
		), "schedule": text(func(f *domain.RunFilter, v string) { f.Schedule = v }),
		"profile": choice(func(f *domain.RunFilter) (*string, *[]string, *[]string) {
			return &f.Profile, &f.Profiles, &f.Exclude.Profiles
		}),
		"bulk": text(func(f *domain.RunFilter, v string) { f.Bulk = v }),
		"text": text(
			func(f *domain.RunFilter, v string) { f.Text = strings.TrimSpace(f.Text + " " + v) },
		), "id": readID, "since": readTime, "until": readUntil,
		"took": readTook, "cost": readCost, "steps": readSteps, "attempt": readAttempt, "has": readHas, "is": readIs,
	}
	for alias, key := range aliases {
		keys[alias] = keys[key]
	}
}

// Parse parses a query: spaces mean AND, commas OR, a leading dash NOT. Quote a value that contains
// spaces. A single word is the end of an ID, else the key of a plan, else text in the status
// message. The error names the invalid part and suggests a correction.
func Parse(q string, now time.Time) (f domain.RunFilter, problem *domain.Error) {
	if problem := readable(q); problem != nil {
		return f, problem
	}
	var words []string
	for _, t := range split(q) {
		if label, ok := strings.CutPrefix(t.key, "label."); ok || strings.HasPrefix(t.value, "label.") && t.key == "" {
			if !ok {
				label = strings.TrimPrefix(t.value, "label.")
			}
			k, v, found := strings.Cut(label, "=")
			if !found || k == "" {
				return f, domain.Errorf(domain.CodeInvalid, "invalid label: use label.key=value")
			}
			labels := &f.Labels
			if t.not {
				labels = &f.Exclude.Labels
			}
			if *labels == nil {
				*labels = map[string]string{}
			}
			(*labels)[k] = v
			continue
		}
		if t.key == "" {
			if t.not {
				return f, domain.Errorf(domain.CodeInvalid, "invalid term -%s", t.value).
					Suggest("write -status:%s or another key", t.value)
			}
			if domain.ValidID(t.value) ||
				len(t.value) == 4 && strings.Trim(t.value, "0123456789abcdefghjkmnpqrstvwxyz") == "" &&
					strings.ContainsAny(t.value, "0123456789") {
				f.IDTail = t.value
			} else {
				words = append(words, t.value)
			}
			continue
		}
		read := keys[t.key]
		if read == nil {
			e := domain.Errorf(domain.CodeInvalid, "unknown filter %q", t.key)
			if near := suggest.Nearest(t.key, append(slices.Collect(maps.Keys(aliases)), Keys...)); near != "" {
				return f, e.Suggest("did you mean %s:%s?", near, t.value)
			}
			return f, e.Suggest("filters: %s, label.key=value", strings.Join(Keys, ", "))
		}
		if t.value == "" {
			return f, domain.Errorf(domain.CodeInvalid, "%s: requires a value", t.key)
		}
		if problem := read(&f, t.value, t.not, now); problem != nil {
			return f, problem
		}
	}
	if len(words) == 1 && strings.Trim(words[0], plain) == "" && f.PlanKey == "" && f.PlanKeys == nil {
		f.Word = words[0]
	} else if len(words) > 0 {
		f.Text = strings.TrimSpace(f.Text + " " + strings.Join(words, " "))
	}
	return f, nil
}

// readable returns an error for a query that is too long or not text.
func readable(q string) *domain.Error {
	if len(q) > 4096 {
		return domain.Errorf(domain.CodeInvalid, "the filter is longer than 4096 characters")
	}
	if !utf8.ValidString(q) {
		return domain.Errorf(domain.CodeInvalid, "the filter is not UTF-8")
	}
	return nil
}

// split splits a query at spaces outside quotes.
func split(q string) []term {
	var out []term
	var b strings.Builder
	quoted, any, key := false, false, ""
	end := func() {
		if !any && key == "" {
			return
		}
		t := term{key: key, value: b.String()}
		if t.key != "" {
			t.key, t.not = strings.TrimPrefix(t.key, "-"), strings.HasPrefix(t.key, "-")
		} else if strings.HasPrefix(t.value, "-") && len(t.value) > 1 {
			t.value, t.not = t.value[1:], true
		}
		out = append(out, t)
		b.Reset()
		any, key = false, ""
	}
	for _, c := range q {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case (c == ' ' || c == '\t' || c == '\n') && !quoted:
			end()
		case c == ':' && !quoted && key == "" && word(b.String()):
			key = b.String()
			b.Reset()
		default:
			b.WriteRune(c)
			any = true
		}
	}
	end()
	return out
}

// word reports whether a text can be a key.
func word(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Quote quotes a value if necessary, so that it is parsed as one value.
func Quote(v string) string {
	if v == "" || strings.ContainsAny(v, " \t\n\",:") {
		return `"` + strings.ReplaceAll(v, `"`, "") + `"`
	}
	return v
}

// Without removes the terms with a key from a query. The other terms keep their order.
func Without(q, key string) string {
	var out []string
	for _, t := range split(q) {
		if t.key != key {
			out = append(out, t.String())
		}
	}
	return strings.Join(out, " ")
}

// Terms returns the terms of a query as text.
func Terms(q string) []string {
	var out []string
	for _, t := range split(q) {
		out = append(out, t.String())
	}
	return out
}

func (t term) String() string {
	s := Quote(t.value)
	if strings.Contains(t.value, ",") && !strings.ContainsAny(t.value, " \t\n\":") {
		s = t.value // one value of a list
	}
	if t.key != "" {
		s = t.key + ":" + s
	}
	if t.not {
		s = "-" + s
	}
	return s
}

// choice returns a reader for a list of values, or with a dash a list of excluded values. If one is
// nil, a single value is added to the list.
func choice(of func(f *domain.RunFilter) (one *string, any, none *[]string)) reader {
	return func(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
		one, any, none := of(f)
		values := slices.DeleteFunc(strings.Split(value, ","), func(v string) bool { return v == "" })
		switch {
		case len(values) == 0:
			return domain.Errorf(domain.CodeInvalid, "%q has an empty value", value)
		case len(values) > 50:
			return domain.Errorf(domain.CodeInvalid, "a key accepts at most 50 values")
		case not:
			*none = append(*none, values...)
		case len(*any) > 0 || one != nil && *one != "":
			return domain.Errorf(domain.CodeInvalid, "the key of %q is used twice", value).
				Suggest("separate alternatives with commas")
		case one != nil && len(values) == 1:
			*one = values[0]
		default:
			*any = values
		}
		return nil
	}
}

// Mistyped returns an error with a suggestion if a key has no such value, but a similar one.
// Otherwise it returns nil.
func Mistyped(key, value string, known []string) *domain.Error {
	if suggest.Nearest(value, known) == "" {
		return nil
	}
	return unknown(key, value, known)
}

// shownValues is the maximum number of values of a key that a message lists.
const shownValues = 12

// unknown returns an error for an unknown value, with the nearest valid one.
func unknown(key, value string, known []string) *domain.Error {
	e := domain.Errorf(domain.CodeInvalid, "invalid term %s:%s", key, value)
	if near := suggest.Nearest(value, known); near != "" {
		return e.Suggest("did you mean %s:%s?", key, near)
	}
	if len(known) > shownValues {
		return e.Suggest("use a value of %s such as %s", key, strings.Join(known[:shownValues], ", "))
	}
	if len(known) == 0 {
		return e
	}
	return e.Suggest("use one of the values of %s: %s", key, strings.Join(known, ", "))
}

func text(set func(*domain.RunFilter, string)) reader {
	return func(f *domain.RunFilter, value string, not bool, _ time.Time) *domain.Error {
		if not {
			return domain.Errorf(domain.CodeInvalid, "this filter cannot be negated").
				Suggest("status, waiting, plan, step, error, agent, tool, provider, trigger, profile, by, and labels can be negated")
		}
		set(f, value)
		return nil
	}
}
