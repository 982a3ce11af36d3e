package tool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Set contains the tools of a server by name. It is safe for concurrent use.
type Set struct {
	mu          sync.RWMutex
	tools       map[string]registered
	permissions Permissions
	plans       map[string]Permissions
	breakers    map[string]circuit.Settings

	calls    *activity.Log  // nil: no activity is recorded
	circuits *circuit.Board // nil: every call is allowed
}

type registered struct {
	llm.Tool
	spec   llm.ToolSpec
	schema *jsonschema.Schema
	// reach is the systems that calls reach. patience is the shortest timeout that counts against
	// them.
	reach       Reach
	maxDuration time.Duration
}

// NewSet returns an empty set. A tool without a permission is allowed.
func NewSet(permissions Permissions) *Set {
	return &Set{tools: map[string]registered{}, permissions: maps.Clone(permissions)}
}

// toolName matches names of tools. The tools of an MCP server are named `server.tool`.
var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// Register adds a tool. It returns an error if the name is taken, invalid, or a built-in node type,
// or if the schema does not compile.
func (s *Set) Register(t llm.Tool) error { return s.add(t, false) }

// Put is Register for a tool that may replace another one with the same name.
func (s *Set) Put(t llm.Tool) error { return s.add(t, true) }

func (s *Set) add(t llm.Tool, replace bool) error {
	spec := t.Spec()
	switch {
	case !toolName.MatchString(spec.Name):
		return fmt.Errorf("register tool %q: a name is letters, digits, _, - and dots, at most 128", spec.Name)
	case planner.BuiltinType(spec.Name):
		return fmt.Errorf("register tool %q: this is the name of a built-in node type", spec.Name)
	}
	r := registered{Tool: t, spec: spec, reach: reachOf(t, spec), maxDuration: maxDurationOf(t)}
	if spec.Schema != nil {
		var err error
		if r.schema, err = jsonschema.Parse(spec.Schema); err != nil {
			return fmt.Errorf("register tool %q: schema: %w", spec.Name, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tools[spec.Name]; taken && !replace {
		return fmt.Errorf("register tool %q: the name is already in use", spec.Name)
	}
	s.tools[spec.Name] = r
	return nil
}

// Unregister removes a tool that its MCP server no longer offers.
func (s *Set) Unregister(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tools, name)
}

// Lookup finds a tool by name.
func (s *Set) Lookup(name string) (llm.Tool, bool) {
	r, ok := s.lookup(name)
	return r.Tool, ok
}

func (s *Set) lookup(name string) (registered, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.tools[name]
	return r, ok
}

// Specs describes every tool, sorted by name.
func (s *Set) Specs() []llm.ToolSpec {
	s.mu.RLock()
	defer s.mu.RUnlock()
	specs := make([]llm.ToolSpec, 0, len(s.tools))
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		specs = append(specs, s.tools[name].spec)
	}
	return specs
}

// Permission returns the general permission of a tool: the configured one, or allow.
func (s *Set) Permission(name string) Permission { return Resolve(s.permissions.Of(name), "", "") }

// PermissionIn returns the permission of a tool in a run of a plan, for an agent with these
// permissions. They are empty for a call without an agent.
func (s *Set) PermissionIn(plan, name string, agent Permissions) Permission {
	return Resolve(s.permissions.Of(name), s.plans[plan].Of(name), agent.Of(name))
}

// Effect returns the side-effect class of a call with these arguments. An unknown tool is unsafe.
func (s *Set) Effect(name string, input any) walk.Effect {
	r, ok := s.lookup(name)
	if !ok {
		return walk.EffectUnsafe
	}
	if r.spec.EffectOf != nil {
		return r.spec.EffectOf(Arguments(input))
	}
	if r.spec.Effect == "" {
		return walk.EffectUnsafe
	}
	return r.spec.Effect
}

// Class returns the side-effect class of a tool without known arguments: the strictest class that a
// call may have.
func (s *Set) Class(name string) walk.Effect {
	r, ok := s.lookup(name)
	if !ok || r.spec.Effect == "" {
		return walk.EffectUnsafe
	}
	return r.spec.Effect
}

// MaxDuration returns the timeout that the tool sets for one call. 0 means that only the step's own
// timeout applies.
func (s *Set) MaxDuration(name string) time.Duration {
	r, _ := s.lookup(name)
	p, ok := r.Tool.(interface{ MaxDuration() time.Duration })
	if !ok {
		return 0
	}
	return p.MaxDuration()
}

// Arguments converts a step's input to arguments. It parses a string with a JSON object. A missing
// input means no arguments.
func Arguments(input any) any {
	switch v := input.(type) {
	case nil:
		return map[string]any{}
	case string:
		if text := strings.TrimSpace(v); strings.HasPrefix(text, "{") {
			if parsed, err := jsonvalue.Decode([]byte(text)); err == nil {
				return parsed
			}
		}
	}
	return input
}

// Call runs a tool. It parses arguments as [Arguments] does, validates them against the tool's
// schema, and reports all problems. It does not call a denied tool. The caller must obtain the
// approval for a tool with the permission ask. Errors are *walk.Failure.
func (s *Set) Call(ctx context.Context, name string, call llm.ToolCall) (any, error) {
	r, ok := s.lookup(name)
	if !ok {
		return nil, refused(walk.CodeUnknownTool, "Tool %q not found", name)
	}
	if by, ok := s.calls.Disabled(activity.Tool + name); ok {
		return nil, disabled(name, by)
	}
	began := time.Now()
	prepared, err := s.prepare(r, name, call)
	if err != nil {
		s.calls.Ended(ctx, activity.Tool+name, activity.Call{Took: time.Since(began), Err: err})
		return nil, err
	}
	pass, err := s.enter(r, name, prepared.Args)
	if err != nil {
		return nil, err
	}
	finished := false
	var out any
	defer func() { // also if the tool panics
		took := time.Since(began)
		verdict := circuit.Silent
		if finished {
			verdict = judge(ctx, err, took, r.maxDuration)
		}
		s.circuits.Leave(pass, verdict, err)
		if finished {
			s.calls.Ended(ctx, activity.Tool+name, activity.Call{Took: took, Err: err})
		}
	}()
	if out, err = r.Call(ctx, prepared); err != nil {
		out, err = nil, walk.AsFailure(err)
	}
	finished = true
	return out, err
}

// CodeDisabled is the failure code of a call of a tool that an operator has disabled.
const CodeDisabled = "tool_disabled"

// disabled returns the failure of a call that was not made. The tool may be enabled by the time of
// a retry.
func disabled(name string, by domain.Disablement) *walk.Failure {
	f := (&walk.Failure{Code: CodeDisabled, NoEffect: true, RetryAfter: time.Minute}).
		WithMessage("the tool %s is disabled since %s by %s", name, by.Since, by.By)
	if by.Reason != "" {
		f.WithMessage("the tool %s is disabled since %s by %s: %s", name, by.Since, by.By, by.Reason)
	}
	return suggest(f, "enable it on its page or with kairos tools enable %s, then resume the run", name)
}

// Watch records every following call. It rejects calls of tools that an operator has disabled or
// whose circuit is open. Call it before the set is used.
func (s *Set) Watch(calls *activity.Log, circuits *circuit.Board) {
	s.calls, s.circuits = calls, circuits
}

// prepare returns a permitted call with valid arguments.
func (s *Set) prepare(r registered, name string, call llm.ToolCall) (llm.ToolCall, error) {
	if s.Permission(name) == Deny {
		return call, suggest(
			refused(walk.CodePolicy, "the tool %q is denied", name),
			"allow it under tools.permissions in the configuration",
		)
	}
	args, err := r.check(call.Args)
	if err != nil {
		return call, err
	}
	call.Args = args
	if call.Log == nil {
		call.Log = func(string, string) {}
	}
	if call.Progress == nil {
		call.Progress = func(int64, int64, string) {}
	}
	return call, nil
}

// Check validates the arguments of a call without making it. The error is a *walk.Failure.
func (s *Set) Check(name string, args any) error {
	r, ok := s.lookup(name)
	if !ok {
		return refused(walk.CodeUnknownTool, "Tool %q not found", name)
	}
	_, err := r.check(args)
	return err
}

// check parses arguments and validates them against the tool's schema.
func (r registered) check(input any) (any, error) {
	args, err := jsonvalue.Normalize(Arguments(input))
	if err != nil {
		return nil, invalid("arguments of %s: %s", r.spec.Name, err)
	}
	if r.schema != nil {
		if problems := r.schema.Validate(args); len(problems) > 0 {
			return nil, badArguments(r.spec.Name, r.spec, problems)
		}
	}
	return args, nil
}

// badArguments returns one failure that lists every problem.
func badArguments(name string, spec llm.ToolSpec, problems []jsonschema.Problem) *walk.Failure {
	slices.SortFunc(problems, func(a, b jsonschema.Problem) int { return cmp.Compare(a.String(), b.String()) })
	problems = slices.CompactFunc(problems, func(a, b jsonschema.Problem) bool { return a.String() == b.String() })
	list := make([]any, len(problems))
	for i, p := range problems {
		list[i] = p
	}
	f := invalid("arguments of %s: %s", name, message.New(strings.Repeat("%s; ", len(list)-1)+"%s", list...))
	if properties, ok := spec.Schema["properties"].(map[string]any); ok && len(properties) > 0 {
		return suggest(f, "%s takes %s", name, strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
	}
	return f
}
