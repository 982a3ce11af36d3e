package driver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// Secrets are resolved only in activities. A workflow puts a mark in place of each reference to a secret. The mark
// contains a code that no data of the run contains, so that data cannot imitate a reference.

// markOf returns the code in the marks of a run.
func markOf(key []byte, run string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte("marks of secrets in " + run))
	return hex.EncodeToString(m.Sum(nil)[:16])
}

// marked returns the input of a step with marks, or false if it refers to no secret.
func marked(s *runstate.State, w *runstate.Step, mark string) (any, bool) {
	found := false
	input, failure := s.Walk.DispatchInput(w.VisitKey, w.Item, func(name string) (string, bool) {
		found = true
		return "<secret " + mark + " " + name + ">", true
	})
	return input, found && failure == nil
}

// Unmark returns a value with marks replaced by secrets. The failure names the first secret that cannot be resolved.
func Unmark(v any, mark string, secret func(name string) (string, bool)) (any, *walk.Failure) {
	u := unmarker{"<secret " + mark + " ", secret, ""}
	out := u.value(v)
	if u.missing != "" {
		f := &walk.Failure{Code: walk.CodeInvalidInput, Permanent: true, NoEffect: true,
			Suggestion: "configure the secret on the workers, for this tool"}
		return nil, f.WithMessage("${secret.%s} cannot be resolved", u.missing)
	}
	return out, nil
}

type unmarker struct {
	prefix  string
	secret  func(name string) (string, bool)
	missing string
}

func (u *unmarker) value(v any) any {
	switch v := v.(type) {
	case string:
		return u.text(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = u.value(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[u.text(k)] = u.value(e)
		}
		return m
	}
	return v
}

func (u *unmarker) text(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, u.prefix)
		name, after, closed := strings.Cut(rest, ">")
		b.WriteString(before)
		if !found || !closed {
			return b.String()
		}
		value, ok := u.secret(name)
		if !ok && u.missing == "" {
			u.missing = name
		}
		b.WriteString(value)
		s = after
	}
}
