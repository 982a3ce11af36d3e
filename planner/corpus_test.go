package planner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// corpus reads a directory of plans of other projects. It skips the test if the collection is not
// available.
func corpus(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", "plans", folder)
	if _, err := os.Stat(dir); err != nil {
		dir = filepath.Join("..", "..", "..", "shared", "plans", folder)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Skipf("the collection of plans is not here: %v", err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".yaml" && ext != ".json" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = src
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no plans", dir)
	}
	return out
}

// Plans in the graph format of the specification parse and compile unchanged, and both encoders
// preserve them.
func TestCorpusOfTheFormat(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"kairos", "kairos-extracted"} {
		for name, src := range corpus(t, folder) {
			d, problems := planner.Parse(src, planner.WithFormat(planner.FormatOf(name, src)))
			if strings.Contains(name, "edges-fragment") {
				want := "add nodes: with an entry for each step that the edges name"
				if d != nil || len(problems) != 1 || problems[0].Suggestion.String() != want {
					t.Errorf("%s: got %v, want one problem that suggests %q", name, problems, want)
				}
				continue
			}
			if d == nil {
				t.Errorf("%s: %v", name, problems)
				continue
			}
			if _, err := d.Program(nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			roundTrip(t, d)
		}
	}
}

// A plan with its own node types is valid without a catalog. With a catalog, the problems name the
// missing types.
func TestCorpusUnknownTypes(t *testing.T) {
	t.Parallel()
	src := corpus(t, "kairos")["demoKairos.orchestrator_plan.yaml"]
	d, problems := planner.Parse(src, planner.WithFormat(planner.FormatYAML))
	if len(problems) != 0 {
		t.Fatalf("got %v, want no problems", problems)
	}
	types := map[string]bool{}
	for _, p := range d.Check(testCatalog()) {
		if p.Code == "node.type_unknown" && p.Line > 0 && !p.Suggestion.IsZero() {
			types[p.Node] = true
		}
	}
	if len(types) != 4 {
		t.Errorf("got unknown types at %v, want all four nodes", types)
	}
}

// The conditions with quoted values of this plan lead to its agents.
func TestCorpusQuotedValues(t *testing.T) {
	t.Parallel()
	src := corpus(t, "kairos-extracted")["ORCHESTRATION_PLATFORM.1.yaml"]
	d, problems := planner.Parse(src, planner.WithFormat(planner.FormatYAML))
	if d == nil {
		t.Fatal(problems)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	route := p.Nodes[p.Index["route"]]
	if got := []string{route.Out[0].Cond.Value(), route.Out[1].Cond.Value()}; got[0] != "billing" || got[1] != "technical" {
		t.Errorf("got values %q, want billing and technical without quotes", got)
	}
	if got := p.Nodes[p.Index["billing-agent"]].Agent; got != "billing-specialist" {
		t.Errorf("got agent %q, want that of metadata.agent_id", got)
	}
}

// Plans of other systems are rejected, with advice for the keys of those systems.
func TestCorpusOfOtherSystems(t *testing.T) {
	t.Parallel()
	for folder, words := range map[string][]string{
		"swarm":     {"activities", "steps"},
		"yamlgraph": {},
	} {
		for name, src := range corpus(t, folder) {
			d, problems := planner.Parse(src, planner.WithFormat(planner.FormatOf(name, src)))
			if d != nil {
				t.Errorf("%s: accepted", name)
				continue
			}
			text := describe(problems)
			for _, w := range words {
				if !strings.Contains(text, w) {
					t.Errorf("%s: nothing says %q:\n%s", name, w, text)
				}
			}
			if strings.Contains(string(src), "from: START") && !strings.Contains(text, "write start: with the step that it leads to") &&
				!strings.Contains(text, "more errors") {
				t.Errorf("%s: START is not explained:\n%s", name, text)
			}
			for _, p := range problems {
				if p.Line == 0 && p.Code != "too_many_problems" {
					t.Errorf("%s: a problem without a line: %v", name, p)
				}
			}
			t.Logf("%s:\n%s", name, text)
		}
	}
}
