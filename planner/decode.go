package planner

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/internal/foreign"
	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/internal/variants"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
	"github.com/kairosd/kairosd/planner/walk"
)

// object reads the fields of one map of a document and records which keys it has read.
type object struct {
	t    *source.Tree
	r    *reporter
	node string   // the node or step that problems belong to
	what string   // for messages: "node", "edge", …
	read []string // the keys that are known here
	// bad reports that the value is not an object, so its missing keys are not reported.
	bad bool
}

// objectForm shows how to write an object that is often written in another form.
var objectForm = map[string]message.Message{
	"node": message.New(
		"write %s",
		"{type: …}",
	), "edge": message.New("write %s", "{from: a, to: b}"), "step": message.New("write %s", "{id: …, tool: …, params: {…}}"),
	"when":     message.New("write %s", "{after: any_success, if: last.n==1}"),
	"on_error": message.New("write %s", "{code: timeout, to: sorry}"),
	"schedule": message.New("write %s", "{cron: \"30 2 * * 1-5\", time_zone: Europe/Madrid}"),
	"undo":     message.New("write %s", "{tool: …, input: {…}}"),
	"block":    message.New("write %s", "do: {nodes: {…}, edges: […]}"),
	"retry": message.New(
		"write %s",
		"{max_attempts: 3}",
	), "backoff": message.New("write [1s, 5s] or {initial: 1s, factor: 2}"), "condition": message.New("write %s", "{type: success}"),
}

func newObject(t *source.Tree, r *reporter, what, node string) *object {
	o := &object{t: t, r: r, what: what, node: node, read: make([]string, 0, 24)}
	if t.Kind != source.Map {
		r.Error(t, node, "field.type", objectForm[what], "%s must be an object, not %s", article(what), t.Kind)
		o.t, o.bad = &source.Tree{Kind: source.Map, Line: t.Line, Column: t.Column}, true
	}
	return o
}

// field returns a key's value; nil when it is absent or null.
func (o *object) field(key string) *source.Tree {
	o.read = append(o.read, key)
	v := o.t.Get(key)
	if v == nil || v.Kind == source.Null {
		return nil
	}
	return v
}

// links are the keys that connect nodes. If one cannot be read, checks of the whole graph would
// only report consequences.
var links = map[string]bool{
	"nodes":        true,
	"finally":      true,
	"edges":        true,
	"from":         true,
	"to":           true,
	"needs":        true,
	"race":         true,
	"start":        true,
	"id":           true,
	"steps":        true,
	"dependencies": true,
}

func (o *object) wrong(v *source.Tree, key string, want message.Message) {
	o.r.broken = o.r.broken || links[key]
	o.r.Error(v, o.node, "field.type", message.Message{}, "%s of %s must be %s, not %s", key, article(o.what), want, v.Kind)
}

// article is the name of an object with its article.
func article(what string) message.Message {
	switch what {
	case "edge":
		return message.New("an edge")
	case "limits", "defaults", "metadata", "retry", "backoff", "when", "on_error", "concurrency", "schedule", "undo":
		return message.Verbatim(what)
	case "condition":
		return message.New("a condition")
	case "block":
		return message.New("a block")
	case "plan":
		return message.New("a plan")
	}
	return message.New("a step")
}

func (o *object) text(key string) string {
	v := o.field(key)
	if v == nil {
		return ""
	}
	if v.Kind != source.String {
		o.wrong(v, key, message.New("text"))
		if (v.Kind == source.Number || v.Kind == source.Bool) && !o.r.Full() {
			o.r.problems[len(o.r.problems)-1].Suggestion = message.New("quote it: %q", v.Text)
		}
		return ""
	}
	return v.Text
}

func (o *object) boolean(key string) bool {
	v := o.field(key)
	if v == nil {
		return false
	}
	if v.Kind != source.Bool {
		o.wrong(v, key, message.New("true or false"))
	}
	return v.Text == "true"
}

// given is a boolean, or nil if there is none.
func (o *object) given(key string) *bool {
	b := o.boolean(key)
	if v := o.t.Get(key); v == nil || v.Kind == source.Null {
		return nil
	}
	return &b
}

func (o *object) integer(key string, least, most int64) int64 {
	v := o.field(key)
	if v == nil {
		return 0
	}
	if v.Kind != source.Number {
		o.wrong(v, key, message.New("a whole number"))
		return 0
	}
	n, err := strconv.ParseInt(jsonvalue.PlainNumber(v.Text), 10, 64)
	if err != nil || n < least || n > most {
		o.r.Error(v, o.node, "field.range", message.Message{}, "%s must be a whole number from %d to %d", key, least, most)
		return 0
	}
	return n
}

func (o *object) number(key string, least float64) float64 {
	v := o.field(key)
	if v == nil {
		return 0
	}
	if v.Kind != source.Number {
		o.wrong(v, key, message.New("a number"))
		return 0
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || f < least || math.IsInf(f, 0) {
		o.r.Error(v, o.node, "field.range", message.Message{}, "%s must be at least %v", key, least)
		return 0
	}
	return f
}

// maxDuration bounds every duration of a document: ten years.
const maxDuration = 10 * 365 * 24 * time.Hour

func (o *object) duration(key string) walk.Duration {
	v := o.field(key)
	if v == nil {
		return 0
	}
	return walk.Duration(o.parseDuration(v, key, false))
}

func (o *object) parseDuration(v *source.Tree, key string, zero bool) time.Duration {
	advice := message.New("write it like 250ms, 30s, or 1h30m")
	if v.Kind != source.String {
		if v.Kind == source.Number && v.Text == "0" && zero {
			return 0
		}
		o.r.Error(v, o.node, "duration.invalid", advice, "%s must be a duration, not %s", key, v.Kind)
		return 0
	}
	d, err := walk.ParseDuration(v.Text)
	if err != nil {
		o.r.Error(v, o.node, "duration.invalid", advice, "%s: invalid duration %s", key, jsonvalue.Quote(v.Text))
		return 0
	}
	if d < 0 || d == 0 && !zero || d > maxDuration {
		o.r.Error(v, o.node, "duration.range", message.Message{}, "%s must be more than 0 and at most 87600h", key)
		return 0
	}
	return d
}

// list returns the elements of a list field.
func (o *object) list(key string) []*source.Tree {
	v := o.field(key)
	if v == nil {
		return nil
	}
	if v.Kind != source.List {
		o.wrong(v, key, message.New("a list"))
		if v.Kind == source.String && !o.r.Full() {
			o.r.problems[len(o.r.problems)-1].Suggestion = message.New("write [%s]", v.Text)
		}
		return nil
	}
	return v.Items
}

func (o *object) texts(key string) []string {
	var out []string
	for _, e := range o.list(key) {
		if e.Kind != source.String {
			o.r.broken = o.r.broken || links[key]
			o.r.Error(e, o.node, "field.type", message.New("quote it if it is text"), "%s must contain only text, not %s", key, e.Kind)
			continue
		}
		out = append(out, e.Text)
	}
	return out
}

// strings reads a map of texts. Other scalars are converted to text.
func (o *object) strings(key string) map[string]string {
	v := o.field(key)
	if v == nil {
		return nil
	}
	if v.Kind != source.Map {
		o.wrong(v, key, message.New("an object"))
		return nil
	}
	m := make(map[string]string, len(v.Keys))
	for i, k := range v.Keys {
		switch e := v.Items[i]; e.Kind {
		case source.List, source.Map:
			o.r.Error(e, o.node, "field.type", message.New("write a text, a number, true, or false"), "%s of %s must be text, not %s",
				jsonvalue.Quote(k.Text), key, e.Kind)
		default:
			m[k.Text] = jsonvalue.Text(e.Value())
		}
	}
	return m
}

func (o *object) value(key string) any {
	if v := o.field(key); v != nil {
		return v.Value()
	}
	return nil
}

func (o *object) object(key, what string) *object {
	v := o.field(key)
	if v == nil {
		return nil
	}
	return newObject(v, o.r, what, o.node)
}

// finish reports keys that were not read, with the nearest known key.
func (o *object) finish() {
	for _, k := range o.t.Keys {
		if slices.Contains(o.read, k.Text) || isExtension(k.Text) {
			continue
		}
		o.r.Error(k, o.node, "field.unknown", o.advice(k.Text), "unknown key %s in %s", jsonvalue.Quote(k.Text), article(o.what))
	}
}

// advice suggests what to write instead of an unknown key.
func (o *object) advice(key string) message.Message {
	if o.r.Full() {
		return message.Message{}
	}
	if s := foreign.Key(o.what, key); !s.IsZero() {
		return s
	}
	known := slices.Compact(slices.Sorted(slices.Values(o.read)))
	if near := suggest.Nearest(key, known); near != "" {
		return message.New("did you mean %s?", near)
	}
	return message.New("known keys: %s", strings.Join(known, ", "))
}

// prepare applies templates and reads the profiles. It returns false for a document of another system.
func (d *Document) prepare(r *reporter) bool {
	t := d.tree
	if i := slices.IndexFunc(t.Keys, func(k *source.Tree) bool { return k.Text == "activities" }); i >= 0 {
		r.Error(t.Keys[i], "", "plan.foreign",
			message.New("write steps: instead, each with id, agentId or tool, task or params, and dependencies: [<step>, …]"),
			"this is a plan of another system, with activities")
		return false
	}
	if foreign.Recognize(t, r) {
		return false
	}
	for _, unused := range variants.ExpandTemplates(t, r) {
		checkSecrets(unused, "", r)
	}
	d.declared = variants.Profiles(t, r)
	for _, p := range d.declared {
		d.Profiles = append(d.Profiles, p.Name)
	}
	return true
}

// decodeDocument sets Graph or Steps.
func decodeDocument(d *Document, r *reporter) {
	t := d.tree
	o := newObject(t, r, "plan", "")
	o.field("templates") // replaced
	hasNodes, hasSteps := t.Get("nodes") != nil, t.Get("steps") != nil
	switch {
	case hasNodes && hasSteps:
		r.Error(t.Get("steps"), "", "plan.shape", message.New("keep nodes and edges, or steps"), "a plan has nodes or steps, not both")
		return
	case !hasNodes && !hasSteps:
		at, suggestion := t, message.New("add nodes and edges, or steps")
		if e := t.Get("edges"); e != nil {
			at, suggestion = e, message.New("add nodes: with an entry for each step that the edges name")
		}
		r.Error(at, "", "plan.no_nodes", suggestion, "the plan has neither nodes nor steps")
		return
	}
	d.ID, d.Name, d.Description = o.text("id"), o.text("name"), o.text("description")
	checkPlanName(o, "id", d.ID, 128)
	checkPlanName(o, "name", d.Name, 200)
	schema, strict, onFailure := o.value("input"), o.given("strict"), o.text("on_failure")
	if v := t.Get("on_failure"); v != nil && onFailure != "" && onFailure != "stop" && onFailure != "continue_branches" {
		r.Error(v, "", "field.value", message.New("write stop or continue_branches"), "unknown on_failure %s", jsonvalue.Quote(onFailure))
	}
	defaults, limits, runs := decodeDefaults(o), decodeLimits(o), decodeRunSettings(o)
	if hasNodes {
		g := &Graph{ID: d.ID, Name: d.Name, Description: d.Description, InputSchema: schema, Strict: strict, OnFailure: onFailure,
			Defaults: defaults, Limits: limits, RunSettings: runs, Start: o.text("start"), Nodes: map[string]Node{}}
		if m, ok := o.value("metadata").(map[string]any); ok {
			g.Metadata = m
		} else if v := t.Get("metadata"); v != nil && v.Kind != source.Null {
			o.wrong(v, "metadata", message.New("an object"))
		}
		if v := o.field("values"); v != nil {
			var ok bool
			if g.Values, ok = v.Value().(map[string]any); !ok {
				o.wrong(v, "values", message.New("an object"))
			}
		}
		g.Result, g.Each = o.value("result"), o.boolean("each")
		if v := o.field("profiles"); v != nil {
			g.Profiles, _ = v.Value().(map[string]any)
		}
		decodeNodes(d, g, o)
		decodeEdges(g, o)
		d.Graph = g
	} else {
		if t.Get("profiles") != nil {
			o.field("profiles") // reported
		}
		s := &StepPlan{ID: d.ID, Name: d.Name, Description: d.Description, InputSchema: schema, Strict: strict, OnFailure: onFailure,
			Defaults: defaults, Limits: limits, RunSettings: runs, ContinueOnFailure: o.boolean("continueOnFailure"),
			EstimatedDurationMs: o.integer("estimatedDuration", 0, math.MaxInt64), EstimatedCost: o.number("estimatedCost", 0)}
		on := defaults.OnError
		if len(defaults.ErrorRules) > 0 {
			on = "a list of rules"
		}
		if s.ContinueOnFailure && on != "" && on != string(walk.OnErrorContinue) {
			r.Error(t.Get("continueOnFailure"), "", "field.value", message.New("keep one of them"),
				"continueOnFailure contradicts defaults.on_error, which is %s", jsonvalue.Quote(on))
		}
		decodeStepMetadata(s, o)
		decodeSteps(s, o)
		d.Steps = s
	}
	o.finish()
}

// checkPlanName reports IDs and names that could mislead people.
func checkPlanName(o *object, key, s string, most int) {
	v := o.t.Get(key)
	if v == nil || v.Kind != source.String {
		return
	}
	if strings.TrimSpace(s) == "" {
		o.r.Error(v, "", "plan.name", message.Message{}, "%s is empty", key)
	}
	if len([]rune(s)) > most {
		o.r.Error(v, "", "plan.name", message.Message{}, "%s has more than %d characters", key, most)
	}
	if bidi(s) {
		o.r.Error(v, "", "plan.name", message.Message{}, "%s contains characters that change the direction of text", key)
	}
	if key == "id" && (strings.ContainsAny(s, "/\\<>\"'`@?#%&\n\t ") || strings.Contains(s, "..")) {
		o.r.Error(v, "", "plan.id", message.New("use letters, digits, dots, dashes, and underscores"), "invalid plan id %s",
			jsonvalue.Quote(s))
	}
}

func decodeDefaults(o *object) (d Defaults) {
	if f := o.object("defaults", "defaults"); f != nil {
		d = Defaults{Retry: decodeRetry(f), Timeout: f.duration("timeout")}
		d.OnError, d.ErrorRules = decodeOnError(f, decodeRetry)
		for i, r := range d.ErrorRules {
			if r.To != "" && r.To != walk.EndName && !slices.Contains(errorActions, r.To) {
				f.r.Error(f.t.Get("on_error").Items[i].Get("to"), "", "field.value",
					message.New("write fail, skip, continue, replan, or $end, or name the step in on_error of a step"),
					"a rule of defaults cannot lead to step %s", jsonvalue.Quote(r.To))
				d.ErrorRules[i].To = ""
			}
		}
		f.finish()
	}
	return d
}

func decodeLimits(o *object) (l walk.Limits) {
	if f := o.object("limits", "limits"); f != nil {
		l = walk.Limits{MaxSteps: int(f.integer("max_steps", 1, math.MaxInt32)), MaxDuration: f.duration("max_duration"),
			MaxTokens: f.integer("max_tokens", 1, math.MaxInt64), MaxCost: f.number("max_cost", 0)}
		f.finish()
	}
	return l
}
