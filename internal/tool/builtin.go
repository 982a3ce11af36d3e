package tool

import (
	"context"
	"fmt"
	"maps"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Builtin returns the built-in tools. The guard, which may be nil, protects files and listeners
// whatever the configuration allows.
func Builtin(c Config, guard *Guard) (*Set, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if guard == nil {
		guard = &Guard{}
	}
	files, err := newFiles(c.Files, guard)
	if err != nil {
		return nil, err
	}
	http, err := newHTTP(c.HTTP, guard)
	if err != nil {
		return nil, err
	}
	sql, err := newSQL(c.SQL, guard)
	if err != nil {
		return nil, err
	}
	tools := []llm.Tool{
		newDatetime(),
		newCalculator(),
		newJSON(),
		newCSV(files),
		newSleep(),
		newReadFile(files),
		newWriteFile(files),
		http,
		sql,
	}
	if c.Exec.Enabled {
		exec, err := newExec(c.Exec)
		if err != nil {
			return nil, err
		}
		tools = append(tools, exec)
	}
	set := NewSet(c.Permissions)
	set.plans, set.breakers = maps.Clone(c.Plans), maps.Clone(c.Breakers)
	for _, t := range tools {
		if err := set.Register(t); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// function is a built-in tool that uses no other machine, and whose arguments are always an object.
type function struct {
	spec llm.ToolSpec
	call func(ctx context.Context, args arguments, call llm.ToolCall) (any, error)
}

func (f *function) Spec() llm.ToolSpec { return f.spec }

func (f *function) Call(ctx context.Context, call llm.ToolCall) (any, error) {
	args, ok := call.Args.(map[string]any)
	if !ok {
		return nil, invalid("arguments of %s: not an object", f.spec.Name)
	}
	return f.call(ctx, args, call)
}

// arguments decodes arguments that match their schema. A missing argument is zero.
type arguments map[string]any

func (a arguments) text(name string) string { s, _ := a[name].(string); return s }
func (a arguments) flag(name string) bool   { b, _ := a[name].(bool); return b }

func (a arguments) has(name string) bool { _, ok := a[name]; return ok }

// number decodes an integer that the schema limits.
func (a arguments) number(name string, otherwise int) int {
	r, ok := parseRat(jsonvalue.Text(a[name]))
	if !a.has(name) || !ok || !r.IsInt() || !r.Num().IsInt64() {
		return otherwise
	}
	return int(r.Num().Int64())
}

func (a arguments) texts(name string) []string {
	list, _ := a[name].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (a arguments) object(name string) map[string]any { m, _ := a[name].(map[string]any); return m }

// Short forms of JSON Schema.

func object(properties map[string]any, required ...string) map[string]any {
	req := make([]any, len(required))
	for i, name := range required {
		req[i] = name
	}
	return map[string]any{"type": "object", "properties": properties, "required": req, "additionalProperties": false}
}

func property(kind, description string, more ...any) map[string]any {
	p := map[string]any{"description": description}
	if kind != "" {
		p["type"] = kind
	}
	if len(more)%2 != 0 {
		panic(fmt.Sprintf("tool: odd schema keywords for %q", description))
	}
	for i := 0; i < len(more); i += 2 {
		p[more[i].(string)] = more[i+1]
	}
	return p
}
