package planner

import (
	"errors"
	"slices"
	"time"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Limits of run settings. They are those of a request to start a run.
const (
	maxPriority = 1000
	maxLabels   = 32
)

func decodeRunSettings(o *object) RunSettings {
	s := RunSettings{Labels: o.strings("labels"), Priority: int(o.integer("priority", -maxPriority, maxPriority)),
		Timeout: o.duration("timeout"), Schedule: decodeSchedule(o), Expose: o.texts("expose")}
	at := o.t.Get("labels")
	if len(s.Labels) > maxLabels {
		o.r.Error(at, "", "run.labels", message.Message{}, "the plan has %d labels; at most %d are allowed", len(s.Labels), maxLabels)
	}
	for i := range len(s.Labels) {
		if k := at.Keys[i]; !validLabel(k.Text) {
			o.r.Error(k, "", "run.labels", message.New("write 1 to 64 bytes on one line, without ="), "invalid label %s",
				jsonvalue.Quote(k.Text))
		}
	}
	checkExpose(o, s.Expose)
	f := o.object("concurrency", "concurrency")
	if f == nil {
		return s
	}
	s.Concurrency = &Concurrency{Key: f.text("key"), Limit: int(f.integer("limit", 1, 1_000_000)), OnConflict: f.text("on_conflict")}
	if s.Concurrency.Key == "" && !f.bad {
		f.r.Error(f.t, "", "run.concurrency", message.New("write key: with a name, such as key: \"customer-${input.customer}\""),
			"concurrency needs a key")
	}
	if on := s.Concurrency.OnConflict; on != "" && !walk.OnConflict(on).Valid() {
		f.r.Error(f.t.Get("on_conflict"), "", "field.value", message.New("write queue, skip, or cancel_oldest"), "unknown on_conflict %s",
			jsonvalue.Quote(on))
	}
	f.finish()
	return s
}

// checkExpose checks the protocols that offer the plan as a tool. The name of the tool is the id of the plan.
func checkExpose(o *object, protocols []string) {
	at := o.t.Get("expose")
	if len(protocols) > 0 && o.t.Get("id") == nil {
		o.r.Error(at, "", "run.expose", message.New("add id:, which is also the name of the tool"), "an exposed plan needs an id")
	}
	for i, p := range protocols {
		if p != walk.ExposeMCP && p != walk.ExposeA2A && i < len(at.Items) {
			o.r.Error(at.Items[i], "", "field.value", message.New("write expose: [mcp], [a2a], or both"), "unknown protocol %s in expose",
				jsonvalue.Quote(p))
		}
	}
}

// compileStartTemplate compiles a setting that is known when a run starts. It returns nil and reports a problem if
// the setting refers to anything else.
func compileStartTemplate(k *compiler, at *source.Tree, what string, v any) *walk.Template {
	t, err := walk.ParseTemplate(v, nil)
	if err != nil {
		text, suggestion := message.Verbatim(err.Error()), message.Message{}
		if e, ok := errors.AsType[*walk.TemplateError](err); ok {
			at, text, suggestion = k.column(at.At(e.At), e.Column), e.Localize(), e.Suggestion
		}
		k.r.Error(at, "", "ref.malformed", suggestion, "%s: %s", what, text)
		return nil
	}
	for _, ref := range t.References() {
		if ref.Root != walk.RefInput && ref.Root != walk.RefValue {
			k.r.Error(at.At(ref.At), "", "run.reference", message.New("refer to input or value"), "%s cannot use ${%s}", what, ref.Text)
			return nil
		}
	}
	return t
}

func decodeSchedule(o *object) *walk.Schedule {
	f := o.object("schedule", "schedule")
	if f == nil {
		return nil
	}
	s := &walk.Schedule{Cron: f.text("cron"), Zone: f.text("time_zone"), Jitter: time.Duration(f.duration("jitter")),
		Input: f.value("input"), Overlap: f.text("overlap"), CatchUp: f.text("catch_up"), Profile: f.text("profile")}
	if s.Cron == "" && !f.bad {
		f.r.Error(f.t, "", "run.schedule", message.New("write %s", "cron: \"30 2 * * 1-5\""), "schedule needs cron")
	}
	if o.t.Get("id") == nil {
		f.r.Error(o.t.Get("schedule"), "", "run.schedule", message.New("add id:, which is also the key of the schedule"),
			"a plan with a schedule needs an id")
	}
	if overlaps := []string{"", "skip", "queue", "cancel_oldest"}; !slices.Contains(overlaps, s.Overlap) {
		f.r.Error(f.t.Get("overlap"), "", "field.value", message.New("write skip, queue, or cancel_oldest"), "unknown overlap %s",
			jsonvalue.Quote(s.Overlap))
	}
	if rules := []string{"", "default", "none", "last", "all", "ask"}; !slices.Contains(rules, s.CatchUp) {
		f.r.Error(f.t.Get("catch_up"), "", "field.value", message.New("write default, none, last, all, or ask"), "unknown catch_up %s",
			jsonvalue.Quote(s.CatchUp))
	}
	f.finish()
	return s
}

// checkSchedule reports times that the server does not accept.
func checkSchedule(d *Document, c *Catalog, r *reporter) {
	if c == nil || c.Schedule == nil || d.tree.Get("schedule") == nil {
		return
	}
	var s *walk.Schedule
	if d.Graph != nil {
		s = d.Graph.Schedule
	} else if d.Steps != nil {
		s = d.Steps.Schedule
	}
	if s == nil || s.Cron == "" {
		return
	}
	if err := c.Schedule(*s); err != nil {
		r.Error(d.tree.Get("schedule"), "", "run.schedule", message.Message{}, "schedule: %s", err)
	}
}
