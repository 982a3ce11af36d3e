package planner

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// waitKeys are the keys of the input of a step of type wait.
var waitKeys = []string{"for", "until", "event", "key", "timeout", "on_timeout"}

// checkWait checks that a wait has one end, and that the other keys belong to it.
func checkWait(r *reporter, m map[string]any, s *spec, at *source.Tree) {
	ends := 0
	for _, key := range []string{"for", "until", "event"} {
		if m[key] != nil {
			ends++
		}
	}
	if ends != 1 {
		r.Error(at, s.ID, "wait.input", message.New("write for: 10m, until: 2030-01-31T08:00:00Z, or event: NAME"),
			"a wait needs exactly one of for, until, and event")
		return
	}
	if text, ok := m["event"].(string); m["event"] != nil && (!ok || strings.TrimSpace(text) == "") {
		r.Error(at.At([]string{"event"}), s.ID, "wait.event", message.New("write event: with a name, such as paid.${input.order}"),
			"event must be text")
	}
	for _, key := range []string{"key", "timeout", "on_timeout"} {
		if m[key] != nil && m["event"] == nil {
			r.Error(at.At([]string{key}), s.ID, "wait.input", message.New("remove it"), "%s needs event", key)
		}
	}
	switch text, _ := m["on_timeout"].(string); {
	case m["on_timeout"] == nil, text == "fail", text == "continue", strings.Contains(text, "${"):
	default:
		r.Error(at.At([]string{"on_timeout"}), s.ID, "wait.input", message.New("write fail or continue"),
			"unknown on_timeout %s", jsonvalue.Quote(jsonvalue.Text(m["on_timeout"])))
	}
}

// control checks the literal inputs of steps of type wait and approval.
func (k *compiler) control(n *walk.ProgramNode, s *spec) {
	at := s.field("input")
	if text, ok := s.Input.(string); ok && strings.Contains(text, "${") {
		return // known only when it runs
	}
	m, ok := s.Input.(map[string]any)
	if !ok {
		want := message.New("write input: {for: 10m}, {until: 2030-01-31T08:00:00Z}, or {event: NAME}")
		if n.Type == walk.TypeApproval {
			want = message.New("write %s", "input: {message: …}")
		}
		k.r.Error(at, s.ID, n.Type+".input", want, "a step of type %s needs an object as input", n.Type)
		return
	}
	known := waitKeys
	if n.Type == walk.TypeApproval {
		known = []string{"message", "answers", "form", "timeout", "on_timeout"}
		k.approval(m, s, at)
	} else {
		checkWait(k.r, m, s, at)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, key) && !isExtension(key) {
			k.r.Error(
				at.Get(key),
				s.ID,
				"field.unknown",
				k.r.Suggest(key, func() []string { return slices.Clone(known) }, message.New("known keys: %s", strings.Join(known, ", "))),
				"unknown key %s in the input of a step of type %s",
				jsonvalue.Quote(key),
				n.Type,
			)
		}
	}
	for _, key := range []string{"for", "timeout"} {
		if v, given := m[key]; given && v != nil {
			if wrong := literalDuration(v); !wrong.IsZero() {
				k.r.Error(
					at.At([]string{key}),
					s.ID,
					"duration.invalid",
					message.New("write it like 250ms, 30s, or 1h30m"),
					"%s %s",
					key,
					wrong,
				)
			}
		}
	}
	if v := m["until"]; v != nil {
		text, isText := v.(string)
		if _, err := time.Parse(time.RFC3339, text); (!isText || err != nil) && !strings.Contains(text, "${") {
			k.r.Error(
				at.At([]string{"until"}),
				s.ID,
				"wait.until",
				message.New("write it like 2030-01-31T08:00:00Z"),
				"until: invalid time %s",
				jsonvalue.Quote(jsonvalue.Text(v)),
			)
		}
	}
}

func (k *compiler) approval(m map[string]any, s *spec, at *source.Tree) {
	if text, ok := m["message"].(string); !ok || strings.TrimSpace(text) == "" {
		k.r.Error(at.At([]string{"message"}), s.ID, "approval.input", message.New("add message: with the question"),
			"an approval needs a message")
	}
	switch v := m["on_timeout"]; v {
	case nil, "approve", "reject", "fail":
		if v != nil && m["timeout"] == nil {
			k.r.Warn(at.At([]string{"on_timeout"}), s.ID, "approval.on_timeout", message.New("add timeout:"),
				"on_timeout has no effect without timeout")
		}
	default:
		if text, ok := v.(string); !ok || !strings.Contains(text, "${") {
			k.r.Error(at.At([]string{"on_timeout"}), s.ID, "approval.input", message.New("write approve, reject, or fail"),
				"unknown on_timeout %s", jsonvalue.Quote(jsonvalue.Text(v)))
		}
	}
	if _, err := Answers(m); err != nil {
		if e, ok := errors.AsType[*AnswersError](err); ok {
			k.r.Error(at.At(e.Path), s.ID, "approval.input", e.Suggestion, "%s", e.Message)
		}
	}
	if form := m["form"]; form != nil {
		if text, ok := form.(string); !ok || !strings.Contains(text, "${") {
			k.schema(form, at.At([]string{"form"}), s.ID)
		}
	}
}

// literalDuration checks a duration inside an input. A duration with references is checked when the
// step runs.
func literalDuration(v any) (wrong message.Message) {
	text, ok := v.(string)
	switch {
	case !ok:
		return message.New("must be text")
	case strings.Contains(text, "${"):
		return message.Message{}
	}
	d, err := walk.ParseDuration(text)
	switch {
	case err != nil:
		return message.New("%s is not a duration", jsonvalue.Quote(text))
	case d < 0 || d > maxDuration:
		return message.New("must be from 0 to 87600h")
	}
	return message.Message{}
}
