package planning

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Mode selects the planner: rules, a model, or automatic.
type Mode string

// Auto plans by rules if a skill matches and the preconditions hold, and by model otherwise.
const (
	Auto    Mode = "auto"
	ByRules Mode = "rules"
	ByModel Mode = "model"
)

// Config configures a [Supervisor].
type Config struct {
	Mode Mode // empty: Auto
	// NoHeuristics skips the classifier, so that every query is planned.
	NoHeuristics bool
	Agents       []Agent
	DefaultAgent string
	Skills       []Skill
	// Recorded returns the measured medians of a skill, by the tool or agent that it is bound to.
	// If it is nil, nothing is measured.
	Recorded func(ctx context.Context, skill, bound string) (Recorded, error)
	// MaxSteps is the maximum number of steps of a plan; 0 means 8.
	MaxSteps int
	// State returns the daemon's own state; nil means none.
	State func() State
	// Generator plans by model. If it is nil, only rules plan, as with the offline provider.
	Generator *Generator
	// Generators plan with the model of the provider that the request names.
	Generators map[string]*Generator
	// Denied reports whether runs of a plan may not call a tool. If it is nil, they may call every
	// tool.
	Denied func(plan, tool string) bool
	// Role returns the current role of the person who started runs under a name, or "". If it is
	// nil, everyone may do everything.
	Role func(ctx context.Context, name string) (domain.Role, error)
	// OnError is the policy for a failed step of plans made here: fail (or empty), or replan.
	OnError string
}

// State is the daemon's own state, which it adds to planning requests.
type State struct {
	// Load is the share of occupied step slots, 0 to 1.
	Load float64
	// RateLimits are the remaining calls under the providers' limits, by name.
	RateLimits map[string]RateLimit
	// Unavailable holds the reasons why tools, agents, or providers are unavailable, by name.
	Unavailable map[string]string
}

// Supervisor decides how a query is answered. It is safe for concurrent use.
type Supervisor struct {
	c          Config
	classifier *Classifier
	rules      *Rules
	configured string // fingerprint of the configuration
}

// New returns a supervisor.
func New(c Config) *Supervisor {
	if c.Mode == "" {
		c.Mode = Auto
	}
	return &Supervisor{c, NewClassifier(c.Agents, c.DefaultAgent), NewRules(c.Skills).AtMost(c.MaxSteps), fingerprint(c)}
}

// fingerprint identifies the parts of a configuration that affect plans.
func fingerprint(c Config) string {
	parts := []any{c.Mode, c.NoHeuristics, c.Agents, c.DefaultAgent, c.Skills, c.OnError, c.MaxSteps}
	if g := c.Generator; g != nil {
		parts = append(parts, g.Model, g.MaxSteps, g.MaxTokens, g.Temperature)
	}
	b, err := json.Marshal(parts)
	if err != nil {
		b = fmt.Appendf(nil, "%+v", parts) // a default is not valid JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Key identifies the plan of a request. Equal requests have the same key while the skills, agents,
// settings, and the daemon's state are the same.
func (s *Supervisor) Key(r Request) string {
	sum := sha256.Sum256([]byte(r.Hash() + s.configured + s.stateKey(r)))
	return "plan-" + hex.EncodeToString(sum[:6])
}

// stateKey lists the parts of the daemon's own state that change the plan of a request, one per
// line. A plan made while a tool is unavailable has another key than a plan made when it is
// available.
func (s *Supervisor) stateKey(r Request) string {
	if s.c.State == nil {
		return ""
	}
	own := s.withState(r)
	var out []string
	if serial(own) && !serial(r) {
		out = append(out, "serial")
	}
	names := map[string]bool{}
	for i := range s.c.Skills {
		for _, name := range s.c.Skills[i].resources() {
			names[name] = true
		}
	}
	for _, a := range s.c.Agents {
		names[a.ID] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if l, ok := own.SystemContext.RateLimits[name]; ok && l.Remaining < int64(s.rules.maxSteps(r.Constraints)) {
			out = append(out, fmt.Sprintf("%s %d", name, l.Remaining))
		}
		if _, ok := own.SystemContext.Unavailable[name]; ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, "\n")
}

// Intent is a request in plain language with its requirements.
type Intent struct {
	Query string
	// Agent is the agent that answers in directed mode, without a plan.
	Agent       string
	Constraints Constraints
	Preferences map[string]any
	// Provider names the provider whose model plans; if it is empty, the configuration decides.
	Provider string
	// Change describes the difference from an earlier plan with the steps Before. Examples contains
	// example input for a planning model.
	Change, Examples string
	Before           []string
	// OnProgress, if set, receives the progress of planning.
	OnProgress func(domain.DraftNote)
}

func (in Intent) progress(n domain.DraftNote) {
	if in.OnProgress != nil {
		in.OnProgress(n)
	}
}

// fullText returns the query and the requested change.
func (in Intent) fullText() string {
	if in.Change == "" {
		return in.Query
	}
	return in.Query + "\n" + in.Change
}

// question returns the request in the form of the prompt.
func (in Intent) question() string {
	q := in.Query
	if in.Examples != "" {
		q += "\n\nExamples of input:\n" + in.Examples
	}
	if in.Change != "" {
		if len(in.Before) > 0 {
			q += "\n\nA plan was made before:\n- " + strings.Join(in.Before, "\n- ")
		}
		q += "\n\nMake it again, with this difference: " + in.Change
	}
	return q
}

// may reports whether the constraints allow a tool or an agent to be planned.
func (in Intent) may(name string) bool {
	return len(in.Constraints.Only) == 0 || slices.Contains(in.Constraints.Only, name)
}

// Request returns the planning request of an intent, with every configured skill that the intent
// allows.
func (s *Supervisor) Request(in Intent) Request {
	var skills []string
	for _, skill := range s.c.Skills {
		if in.may(cmp.Or(skill.Agent, skill.Tool)) {
			skills = append(skills, skill.ID)
		}
	}
	return Request{UserIntent: in.fullText(), UserContext: UserContext{Preferences: in.Preferences},
		SystemContext: SystemContext{AvailableSkills: skills}, Constraints: in.Constraints}
}

// measured returns the planner by rules with the medians recorded now.
func (s *Supervisor) measured(ctx context.Context) (*Rules, error) {
	if s.c.Recorded == nil {
		return s.rules, nil
	}
	recorded := map[string]Recorded{}
	for _, skill := range s.c.Skills {
		m, err := s.c.Recorded(ctx, skill.ID, cmp.Or(skill.Agent, skill.Tool))
		if err != nil {
			return nil, fmt.Errorf("statistics of skill %s: %w", skill.ID, err)
		}
		recorded[skill.ID] = m
	}
	return s.rules.With(recorded), nil
}

// Decision is the answer to a query: a plan, or the agent that answers directly.
type Decision struct {
	Classification Classification
	// Agent names the agent that answers directly. If it is empty, the plan is executed in the name
	// of the supervisor.
	Agent  string
	Plan   *planner.StepPlan
	Reason string
	// By is "rules" or "model", and empty without a plan. Model is the model that planned, as
	// provider/model.
	By, Model string
	Usage     llm.Usage
}

var directed = regexp.MustCompile(`^/([A-Za-z_][A-Za-z0-9_.-]*)\s+(\S(?s:.*))$`)

// Directed parses `/agentId text`. It does not check whether the agent exists; [Supervisor.Route]
// does.
func (s *Supervisor) Directed(query string) (agentID, text string, ok bool) {
	m := directed.FindStringSubmatch(strings.TrimSpace(query))
	if m == nil {
		return "", query, false
	}
	return m[1], m[2], true
}

// suggest returns a suggestion that lists the agents.
func (s *Supervisor) suggest() string {
	var ids []string
	for _, a := range s.c.Agents {
		if !a.System {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return "configure it under agents"
	}
	return "choose one of " + strings.Join(ids, ", ")
}

func (s *Supervisor) has(id string) bool {
	return slices.ContainsFunc(s.c.Agents, func(a Agent) bool { return a.ID == id && !a.System })
}

// Classify estimates the complexity of a query without a model.
func (s *Supervisor) Classify(query string) Classification { return s.classifier.Classify(query) }

// Plan plans a request by rules. Unlike Decide, it takes the caller's planning request.
func (s *Supervisor) Plan(ctx context.Context, r Request) (*planner.StepPlan, error) {
	rules, err := s.measured(ctx)
	if err != nil {
		return nil, err
	}
	p, err := rules.Plan(s.withState(r))
	if err == nil {
		p.ID = s.Key(r)
	}
	return p, err
}

// withState adds the daemon's state to a request. A rate limit of the caller takes precedence, and
// the higher load counts.
func (s *Supervisor) withState(r Request) Request {
	if s.c.State == nil {
		return r
	}
	own, c := s.c.State(), &r.SystemContext
	c.SystemLoad = max(c.SystemLoad, own.Load)
	limits, out := maps.Clone(own.RateLimits), maps.Clone(own.Unavailable)
	if limits == nil {
		limits = map[string]RateLimit{}
	}
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(limits, c.RateLimits)
	maps.Copy(out, c.Unavailable)
	c.RateLimits, c.Unavailable = limits, out
	return r
}

// Decide routes or plans a request. The error is an [*Error], or the provider's.
func (s *Supervisor) Decide(ctx context.Context, in Intent) (Decision, error) {
	d, err := s.Route(in)
	if err != nil || d.Agent != "" {
		return d, err
	}
	return s.Make(ctx, in, d)
}

// Route returns the agent that answers without a plan. If a plan is needed, the decision names no
// agent.
func (s *Supervisor) Route(in Intent) (Decision, error) {
	d := Decision{Classification: s.classifier.Classify(in.Query)}
	in.progress(domain.DraftNote{Phase: domain.PhaseUnderstanding, Who: string(d.Classification.Complexity),
		Text: d.Classification.Reasoning})
	if in.Agent != "" {
		if !s.has(in.Agent) {
			return d, &Error{Code: "unknown_agent", Message: fmt.Sprintf("agent %q is not configured", in.Agent), Suggestion: s.suggest()}
		}
		d.Agent, d.Reason = in.Agent, "the caller named the agent"
		return d, nil
	}
	if direct := d.Classification.SuggestedAgents[0]; !d.Classification.RequiresPlanning && !s.c.NoHeuristics && in.Change == "" &&
		in.Provider == "" &&
		in.may(direct) {
		d.Agent, d.Reason = direct, d.Classification.Reasoning
	}
	return d, nil
}

// Make plans a request without a direct answer. The planner may still name an agent that answers
// directly.
func (s *Supervisor) Make(ctx context.Context, in Intent, d Decision) (Decision, error) {
	r := s.Request(in)
	generator := s.c.Generator
	if in.Provider != "" {
		if generator = s.c.Generators[in.Provider]; generator == nil {
			return d, domain.Errorf(domain.CodeInvalid, "provider %q is not configured for planning", in.Provider).
				Suggest("choose one of %s", strings.Join(s.Planners(), ", "))
		}
	}
	var refused error
	if in.Provider == "" && s.c.Mode != ByModel && len(s.c.Skills) > 0 {
		in.progress(
			domain.DraftNote{
				Phase: domain.PhaseChoosing,
				Who:   "rules",
				Text:  strings.Join(s.rules.Analyze(r.UserIntent).RequiredSkills, ", "),
			},
		)
		p, err := s.Plan(ctx, r)
		if err == nil {
			p.Defaults.OnError = s.c.OnError
			d.Plan, d.By, d.Reason = p, "rules", "skills match the request"
			if n, ok := p.Plan.Extra[measuredKey]; ok {
				d.Reason += fmt.Sprintf("; %v of %d estimates are medians of runs here", n, len(p.Steps))
			}
			in.progress(domain.DraftNote{Phase: domain.PhaseDrafting, Who: "rules", Text: stepNames(p)})
			return d, nil
		}
		reason, ok := AsError(err)
		if !ok {
			return d, err
		}
		refused = err
		if unreachable(err) {
			return d, err // a model would have to keep the same constraints
		}
		in.progress(domain.DraftNote{Phase: domain.PhaseDrafting, Who: "rules", Problems: []domain.Message{reason.Localize()}})
	}
	if in.Provider == "" && s.c.Mode == ByRules || generator == nil {
		direct := d.Classification.SuggestedAgents[0]
		if in.may(direct) && (d.Classification.Complexity == Moderate || len(s.c.Skills) == 0) {
			// No rule excludes a direct answer, and neither rules nor a model can plan.
			d.Agent, d.Reason = direct, "no planning rule matches, and no planning model is configured"
			return d, nil
		}
		if refused == nil { // there are no skills
			refused = refuse(
				[]violation{
					{
						rule:   "PRE-PLAN-001",
						text:   domain.Messagef("Planning request must have valid intent and available skills (no skill is configured)"),
						advice: domain.Messagef("Rephrase request or make skills available"),
					},
				},
			)
		}
		return d, refused
	}
	return s.byModel(ctx, generator, in, r, d)
}

// byModel requests the plan from a model.
func (s *Supervisor) byModel(ctx context.Context, generator *Generator, in Intent, r Request, d Decision) (Decision, error) {
	model := *generator
	if n := in.Constraints.MaxSteps; n > 0 && n < model.maxSteps() {
		model.MaxSteps = n
	}
	key := s.Key(r)
	r = s.withState(r)
	s.inform(&model, r)
	model.Agents = slices.DeleteFunc(model.Agents, func(a Agent) bool { return !in.may(a.ID) })
	model.OnProgress = in.progress
	d.Model = strings.Trim(model.Name+"/"+model.Model, "/")
	g, err := model.Generate(ctx, in.question())
	d.Usage = g.Usage
	if err != nil {
		return d, err
	}
	d.Reason = g.Reasoning
	if g.Plan == nil {
		d.Agent = g.Direct
		return d, nil
	}
	if err := s.estimate(ctx, g.Plan); err != nil {
		return d, err
	}
	if broken := CheckPlan(g.Plan, &r); len(broken) > 0 {
		return d, refuse(asViolations(broken))
	}
	bound(g.Plan, r)
	g.Plan.ID, g.Plan.Defaults.OnError = key, s.c.OnError
	d.Plan, d.By = g.Plan, "model"
	return d, nil
}

// inform adds the daemon's state to the prompt, and removes unavailable agents from the list.
func (s *Supervisor) inform(g *Generator, r Request) {
	g.Agents = slices.Clone(g.Agents)
	if s.c.State == nil {
		return
	}
	g.State = &r.SystemContext
	g.Agents = slices.DeleteFunc(g.Agents, func(a Agent) bool {
		_, out := r.SystemContext.Unavailable[a.ID]
		return out
	})
}

// estimate sets a model's estimated duration and tokens to the medians that its agents needed on
// this server. If an agent has too few runs, both remain unset.
func (s *Supervisor) estimate(ctx context.Context, p *planner.StepPlan) error {
	if s.c.Recorded == nil {
		return nil
	}
	var ms, tokens int64
	measured := 0
	for _, st := range p.Steps {
		m, err := s.c.Recorded(ctx, "", st.AgentID)
		if err != nil {
			return fmt.Errorf("statistics of agent %s: %w", st.AgentID, err)
		}
		if m.Runs >= minRecorded {
			measured++
			ms, tokens = ms+m.Time.Milliseconds(), tokens+m.Tokens
		}
	}
	if measured == 0 {
		return nil
	}
	extra(p, measuredKey, json.Number(strconv.Itoa(measured)))
	if measured == len(p.Steps) { // the steps run one after the other
		p.EstimatedDurationMs, p.EstimatedCost = ms, float64(tokens)
	}
	return nil
}

// extra sets a key of a plan's metadata.
func extra(p *planner.StepPlan, key string, v any) {
	if p.Plan.Extra == nil {
		p.Plan.Extra = map[string]any{}
	}
	p.Plan.Extra[key] = v
}

func stepNames(p *planner.StepPlan) string {
	var out []string
	for _, st := range p.Steps {
		out = append(out, cmp.Or(st.SkillID, st.AgentID, st.Tool))
	}
	return strings.Join(out, ", ")
}

// Planners lists the names of the providers whose models can plan, sorted.
func (s *Supervisor) Planners() []string { return slices.Sorted(maps.Keys(s.c.Generators)) }

// unreachable reports whether rules prove that no plan for a request keeps its constraints.
func unreachable(err error) bool {
	e, ok := AsError(err)
	return ok && len(e.Violations) > 0 &&
		!slices.ContainsFunc(e.Violations, func(rule string) bool { return rule != "PRE-PLAN-003" && rule != "POST-PLAN-004" })
}

// AsError finds an [*Error] in a chain.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }
