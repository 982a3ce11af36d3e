package planner_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/walk"
	"pgregory.net/rapid"
)

const profiled = `
id: pay
values: {bucket: none, mail: {from: a@example.com, to: b@example.com}}
limits: {max_cost: 10, max_steps: 5}
labels: {team: billing}
priority: 1
concurrency: {key: pay, limit: 3}
templates:
  call: {type: http, timeout: 30s, retry: {max_attempts: 3, backoff: [1s]}}
nodes:
  get: {use: call, input: {url: "https://api.example/${value.bucket}"}}
  pay: {use: call, needs: [get], input: {url: "https://api.example"}}
  each:
    needs: [pay]
    foreach: [1]
    do: {nodes: {one: {type: set, input: "${value.bucket}"}}}
finally:
  tidy: {type: noop}
profiles:
  dev:
    x-note: no money moves
    values: {bucket: test, mail: {to: dev@example.com}}
    limits: {max_cost: 1}
    priority: null
    nodes:
      pay: {timeout: 5s, retry: {max_attempts: 1}}
      tidy: {timeout: 1s}
  prod:
    values: {bucket: live}
    labels: {env: prod}
    priority: 5
    timeout: 1h
    concurrency: {limit: 1}
    defaults: {timeout: 10s}
  bare:
`

func withProfile(t *testing.T, src, profile string) *walk.Program {
	t.Helper()
	d, problems := planner.Parse([]byte(src), planner.WithProfile(profile))
	if d == nil {
		t.Fatal(problems)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The settings of a profile replace those of the plan, member by member. Everything else stays.
func TestAProfileReplacesSettings(t *testing.T) {
	t.Parallel()
	written, own := compiled(t, profiled)
	roundTrip(t, written)
	if want := []string{"dev", "prod", "bare"}; !slices.Equal(written.Profiles, want) || !slices.Equal(own.Start.Profiles, want) {
		t.Errorf("profiles %v, %v", written.Profiles, own.Start.Profiles)
	}
	dev, prod := withProfile(t, profiled, "dev"), withProfile(t, profiled, "prod")
	for _, p := range []*walk.Program{dev, prod} {
		if p.Hash != own.Hash || p.ID != own.ID || len(p.Nodes) != len(own.Nodes) {
			t.Errorf("profile %s is another version: %s %s", p.Profile, p.Hash, own.Hash)
		}
	}
	mail := map[string]any{"from": "a@example.com", "to": "dev@example.com"}
	if want := map[string]any{"bucket": "test", "mail": mail}; !cmp.Equal(dev.Values, want) {
		t.Errorf("values %v", dev.Values)
	}
	if dev.Limits.MaxCost != 1 || dev.Limits.MaxSteps != 5 || dev.Priority != 0 || dev.Profile != "dev" {
		t.Errorf("dev: %+v, priority %d", dev.Limits, dev.Priority)
	}
	at := func(p *walk.Program, id string) walk.ProgramNode { return p.Nodes[p.Index[id]] }
	if n := at(dev, "pay"); n.Timeout != 5*time.Second || n.MaxAttempts != 1 || n.Backoff.List == nil {
		t.Errorf("pay: %v, %d attempts, %v", n.Timeout, n.MaxAttempts, n.Backoff)
	}
	if n := at(dev, "get"); n.Timeout != 30*time.Second || n.MaxAttempts != 3 {
		t.Errorf("the template was changed for get, too: %v, %d attempts", n.Timeout, n.MaxAttempts)
	}
	if n := at(dev, "tidy"); n.Timeout != time.Second || !n.Finally {
		t.Errorf("tidy: %v", n.Timeout)
	}
	labels, _ := prod.RunLabels(nil)
	if want := map[string]string{"team": "billing", "env": "prod"}; !maps.Equal(labels, want) {
		t.Errorf("labels %v", labels)
	}
	if c := prod.Start.Concurrency; c.Limit != 1 || prod.Priority != 5 || prod.Start.Timeout != time.Hour {
		t.Errorf("prod: limit %d, priority %d, timeout %v", c.Limit, prod.Priority, prod.Start.Timeout)
	}
	if n := at(prod, "tidy"); n.Timeout != 10*time.Second {
		t.Errorf("defaults: %v", n.Timeout)
	}
}

// A block follows the profile of its plan: it has other values, and so is another stored version.
func TestABlockFollowsTheProfile(t *testing.T) {
	t.Parallel()
	block := func(profile string) *walk.Program {
		p := withProfile(t, profiled, profile)
		return p.Nodes[p.Index["each"]].Block.Program
	}
	own, dev, bare := block(""), block("dev"), block("bare")
	if dev.Values["bucket"] != "test" || dev.Hash == own.Hash || dev.ID != own.ID || dev.Profile != "dev" {
		t.Errorf("the block of dev has %v, hash %s", dev.Values, dev.Hash)
	}
	if bare.Hash != own.Hash {
		t.Error("a profile that changes nothing changes the block")
	}
	p := withProfile(t, profiled, "dev")
	again, problems := planner.Parse(p.Nodes[p.Index["each"]].Block.Source, planner.WithProfile("dev"), planner.WithLenientRules())
	if again == nil || again.Hash != dev.Hash || again.Profile != "" {
		t.Errorf("the stored block: %v", problems)
	}
}

// Without a profile, and with the name of one that it does not declare, a plan is read as written.
func TestAnUndeclaredProfileIsThePlanAsWritten(t *testing.T) {
	t.Parallel()
	_, own := compiled(t, profiled)
	for _, name := range []string{"", "test"} {
		if p := withProfile(t, profiled, name); p.Profile != "" || !cmp.Equal(p.Values, own.Values) {
			t.Errorf("profile %q: %v %v", name, p.Profile, p.Values)
		}
	}
}

// The hash of a version covers its profiles, but not the x- keys in them.
func TestTheHashCoversProfiles(t *testing.T) {
	t.Parallel()
	hash := func(old, with string) string {
		d, _ := planner.Parse([]byte(strings.Replace(profiled, old, with, 1)))
		return d.Hash
	}
	own := hash("", "")
	if hash("bucket: live", "bucket: other") == own || hash("  bare:\n", "") == own || hash("priority: null", "timeout: null") == own {
		t.Error("another profile has the same hash")
	}
	if hash("no money moves", "some money moves") != own {
		t.Error("the hash covers x- keys")
	}
}

// A plan with a profile compiles like the plan into which a person wrote the same settings.
func TestAProfileIsTheMergedPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var plan map[string]any
		src := plannertest.Plans().Draw(t, "plan")
		if err := json.Unmarshal([]byte(src), &plan); err != nil {
			t.Fatal(err)
		}
		nodes, _ := plan["nodes"].(map[string]any)
		if nodes == nil {
			t.Skip("a step plan")
		}
		steps, profile := map[string]any{}, map[string]any{"values": map[string]any{"a": 1}, "priority": 3}
		for _, key := range slices.Sorted(maps.Keys(nodes)) {
			settings := map[string]any{}
			if rapid.Bool().Draw(t, "timeout") {
				settings["timeout"] = rapid.SampledFrom([]any{"2s", "1m", nil}).Draw(t, "duration")
			}
			if rapid.Bool().Draw(t, "retry") {
				settings["retry"] = rapid.SampledFrom([]any{map[string]any{"max_attempts": 2}, map[string]any{"max_attempts": 4,
					"backoff": []any{"1s"}}, nil}).Draw(t, "attempts")
			}
			if len(settings) > 0 {
				steps[key] = settings
			}
		}
		profile["nodes"] = steps
		merged, err := json.Marshal(mergePatch(plan, profile))
		if err != nil {
			t.Fatal(err)
		}
		plan["profiles"] = map[string]any{"p": profile}
		with, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		want, wantProblems := planner.Parse(merged)
		got, problems := planner.Parse(with, planner.WithProfile("p"))
		if (want == nil) != (got == nil) {
			t.Fatalf("%s\n%v\n%s\n%v", merged, wantProblems, with, problems)
		}
		if want == nil {
			return
		}
		a, err := want.Encode(planner.FormatJSON)
		if err != nil {
			t.Fatal(err)
		}
		b, err := got.Encode(planner.FormatJSON)
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%v\n%s\n%s", err, a, b)
		}
		if _, err := got.Program(nil); err != nil {
			t.Error(err)
		}
	})
}

// mergePatch is RFC 7396: it merges objects member by member, and null removes a member.
func mergePatch(target any, patch map[string]any) map[string]any {
	old, _ := target.(map[string]any)
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			out[k] = mergePatch(out[k], v)
		default:
			out[k] = v
		}
	}
	return out
}

// A plan with a catalog is checked with each profile, when it is parsed and when it is checked later.
func TestEachProfileIsCheckedWithTheCatalog(t *testing.T) {
	t.Parallel()
	src := "nodes: {a: {type: agent, agent: writer, input: x}}\nprofiles:\n  dev: {nodes: {a: {agent: nobody}}}\n"
	c := &planner.Catalog{Agents: map[string]planner.AgentInfo{"writer": {}}}
	d, problems := planner.Parse([]byte(src))
	if d == nil || len(problems) > 0 {
		t.Fatal(problems)
	}
	_, parsed := planner.Parse([]byte(src), planner.WithCatalog(c))
	for _, got := range []planner.Problems{parsed, d.Check(c)} {
		if len(got) != 1 || got[0].Line != 3 || !strings.HasPrefix(got[0].Message.String(), `profile "dev": `) {
			t.Errorf("%v", got)
		}
	}
	if _, err := d.Program(c); err != nil {
		t.Errorf("the plan as written: %v", err)
	}
}
