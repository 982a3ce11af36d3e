package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// builtin returns the set of built-in tools.
func builtin(tb testing.TB, c tool.Config, guard *tool.Guard) *tool.Set {
	tb.Helper()
	set, err := tool.Builtin(c, guard)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// call calls a tool with JSON arguments, as a plan would.
func call(tb testing.TB, set *tool.Set, name, args string) (string, *walk.Failure) {
	tb.Helper()
	out, err := set.Call(tb.Context(), name, llm.ToolCall{Args: args, IdempotencyKey: "key-1"})
	if err != nil {
		f, ok := errors.AsType[*walk.Failure](err)
		if !ok {
			tb.Fatalf("%s %s: the error is a %T, not a failure: %v", name, args, err, err)
		}
		return "", f
	}
	v, err := jsonvalue.Normalize(out)
	if err != nil {
		tb.Fatalf("%s %s: %v", name, args, err)
	}
	return jsonvalue.Text(v), nil
}

// refuses checks that a call fails permanently before it does anything.
func refuses(tb testing.TB, set *tool.Set, name, args, message string) *walk.Failure {
	tb.Helper()
	out, f := call(tb, set, name, args)
	if f == nil {
		tb.Fatalf("%s %s gave %s; want a failure with %q", name, args, out, message)
	}
	if !strings.Contains(f.Message, message) || !f.Permanent || !f.NoEffect {
		tb.Fatalf(
			"%s %s failed with %q (permanent %v, no effect %v); want a permanent one with %q",
			name,
			args,
			f.Message,
			f.Permanent,
			f.NoEffect,
			message,
		)
	}
	return f
}

type fake struct {
	spec llm.ToolSpec
	got  any
}

func (f *fake) Spec() llm.ToolSpec { return f.spec }
func (f *fake) Call(_ context.Context, c llm.ToolCall) (any, error) {
	f.got = c.Args
	c.Log("info", "called")
	c.Progress(1, 1, "")
	return "done", nil
}

func TestRegisterRefusesReservedNames(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	for name, want := range map[string]string{
		"set": "built-in node type", "terminal": "built-in node type", "tool": "built-in node type", "http": "already",
		"": "a name is", "a b": "a name is", "-x": "a name is",
	} {
		err := set.Register(&fake{spec: llm.ToolSpec{Name: name}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("register %q: got %v, want %q", name, err, want)
		}
	}
	if err := set.Register(&fake{spec: llm.ToolSpec{Name: "mcp.server-tool", Schema: map[string]any{"type": 5}}}); err == nil {
		t.Error("a schema that does not compile was accepted")
	}
	if err := set.Register(&fake{spec: llm.ToolSpec{Name: "mcp.server-tool"}}); err != nil {
		t.Error(err)
	}
	if got := set.Effect("mcp.server-tool", nil); got != walk.EffectUnsafe {
		t.Errorf("a tool that says nothing about its effect is %s, want unsafe", got)
	}
	if got := set.Effect("nobody", nil); got != walk.EffectUnsafe {
		t.Errorf("an unknown tool is %s, want unsafe", got)
	}
}

func TestArgumentsAreParsedAndAllProblemsListed(t *testing.T) {
	t.Parallel()
	set := tool.NewSet(map[string]tool.Permission{"denied": tool.Deny, "asks": tool.Ask})
	f := &fake{spec: llm.ToolSpec{Name: "book", Schema: map[string]any{
		"type": "object", "required": []any{"name"}, "additionalProperties": false,
		"properties": map[string]any{"name": map[string]any{"type": "string"}, "seats": map[string]any{"type": "integer", "minimum": 1}}}}}
	for _, x := range []*fake{f, {spec: llm.ToolSpec{Name: "denied"}}, {spec: llm.ToolSpec{Name: "asks"}}} {
		if err := set.Register(x); err != nil {
			t.Fatal(err)
		}
	}
	if out, fail := call(t, set, "book", ` {"name": "Ana", "seats": 2} `); fail != nil || out != "done" {
		t.Fatalf("got %s, %v", out, fail)
	}
	if text := jsonvalue.Text(f.got); text != `{"name":"Ana","seats":2}` {
		t.Errorf("the tool saw %s", text)
	}
	fail := refuses(t, set, "book", `{"seats": 0, "colour": "red"}`, `"name" is required`)
	for _, want := range []string{"unknown key", "seats"} {
		if !strings.Contains(fail.Message, want) {
			t.Errorf("%q does not mention %q: every problem is listed", fail.Message, want)
		}
	}
	if fail.Code != walk.CodeInvalidInput {
		t.Errorf("code %s", fail.Code)
	}
	refuses(t, set, "book", `just text`, "must be object")
	refuses(t, set, "nobody", `{}`, `Tool "nobody" not found`)
	if fail := refuses(t, set, "denied", `{}`, "denied"); fail.Code != walk.CodePolicy {
		t.Errorf("code %s", fail.Code)
	}
	if got := set.Permission("asks"); got != tool.Ask {
		t.Errorf("permission %s", got)
	}
	if got := set.Permission("book"); got != tool.Allow {
		t.Errorf("permission %s", got)
	}
	if _, err := tool.Builtin(tool.Config{Permissions: map[string]tool.Permission{"http": "maybe"}}, nil); err == nil {
		t.Error("an unknown permission was accepted")
	}
}

func TestEveryToolIsDescribed(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range builtin(t, tool.Config{}, nil).Specs() {
		names = append(names, s.Name)
		if s.Description == "" || s.Schema == nil || s.Effect == "" {
			t.Errorf("%s lacks a description, schema or effect", s.Name)
		}
		for name, p := range s.Schema["properties"].(map[string]any) {
			if p.(map[string]any)["description"] == "" {
				t.Errorf("%s.%s lacks a description", s.Name, name)
			}
		}
	}
	want := []string{"calculator", "csv", "datetime", "http", "json", "read_file", "sleep", "sql_query", "write_file"}
	if d := cmp.Diff(names, want); d != "" {
		t.Error(d)
	}
}
