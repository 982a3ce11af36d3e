package planner_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestProblems reads testdata/problems. Each file holds cases of one theme. A case is a plan, and
// every problem that it has, with its position.
//
//	== id: what it shows          a case; "catalog" in this line checks it
//	                              against the catalog of this test
//	the document, YAML or JSON
//	-- problems                   problems of Parse and Check, one per line
func TestProblems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/problems/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, cases := splitCases(src)
			var out bytes.Buffer
			out.WriteString(head)
			for _, c := range cases {
				got := describe(problemsOf([]byte(c.document), c.catalog()))
				fmt.Fprintf(&out, "== %s\n%s-- problems\n%s", c.title, c.document, got)
				if diff := cmp.Diff(c.problems, got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", c.title, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestEveryProblemHasACase checks that every code that the package can report occurs in a case, or
// in a test that is listed here.
func TestEveryProblemHasACase(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"document.too_large": "TestLimits", "document.encoding": "TestEncodings", "document.control_character": "TestEncodings",
		"plan.too_many_nodes": "TestLimits", "plan.too_many_edges": "TestLimits", "too_many_problems": "TestLimits",
		"undo.action": "TestUndoProblems", "undo.type": "TestUndoProblems", "undo.nothing": "TestUndoProblems",
		"undo.no_effect": "TestUndoProblems", "undo.unsafe": "TestUndoProblems", "undo.item": "TestUndoProblems",
		"plan.steps": "TestGraphParsers", "document.depth": "TestLimits", "yaml.alias_limit": "TestLimits",
	}
	var seen strings.Builder
	files, _ := filepath.Glob("testdata/problems/*.txt")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(src)
	}
	code := regexp.MustCompile(`"([a-z]+\.[a-z_]+)", `)
	sources, _ := filepath.Glob("*.go")
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") ||
			!regexp.MustCompile(`^(parse|tree|decode|compile|check|analyse|secret|undo)`).MatchString(file) {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(src), -1) {
			if elsewhere[m[1]] == "" && !strings.Contains(seen.String(), "["+m[1]+"]") {
				t.Errorf("%s reports %s, and no case shows it", file, m[1])
			}
		}
	}
}

// TestCatalogOfBadDocuments checks that every row of the catalog of bad documents occurs in a
// test, or in the list of packages that cover it.
func TestCatalogOfBadDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow with the race detector, and starts nothing concurrently")
	}
	t.Parallel()
	elsewhere := map[string]string{
		"P44": "the API: ETags of stored plans",
	}
	var text strings.Builder
	tests, _ := filepath.Glob("*_test.go")
	walkTests, _ := filepath.Glob("walk/*_test.go")
	cases, _ := filepath.Glob("testdata/problems/*.txt")
	for _, file := range slices.Concat(tests, walkTests, cases) {
		if file == "problems_test.go" {
			continue // it lists the rows without testing them
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(src)
	}
	// A range such as P18-P24 in a heading does not cover the rows between its ends.
	for n := 1; n <= 48; n++ {
		id := fmt.Sprintf("P%02d", n)
		shown := regexp.MustCompile(`(== .*|"|\(|, |// )` + id + `\b`).MatchString(text.String())
		if shown == (elsewhere[id] != "") {
			t.Errorf("%s: shown %v, elsewhere %q", id, shown, elsewhere[id])
		}
	}
}

type problemCase struct{ title, document, problems string }

func (c problemCase) catalog() *planner.Catalog {
	if strings.Contains(c.title, "(catalog)") {
		return testCatalog()
	}
	return nil
}

func splitCases(src []byte) (head string, cases []problemCase) {
	parts := strings.Split("\n"+string(src), "\n== ")
	head = strings.TrimPrefix(parts[0], "\n")
	if head != "" {
		head += "\n"
	}
	for i, part := range parts[1:] {
		if i < len(parts)-2 {
			part += "\n"
		}
		title, rest, _ := strings.Cut(part, "\n")
		document, problems, _ := strings.Cut("\n"+rest, "\n-- problems\n")
		document = strings.TrimPrefix(document, "\n")
		if document != "" {
			document += "\n"
		}
		cases = append(cases, problemCase{title, document, problems})
	}
	return head, cases
}

// problemsOf returns the problems that an operator sees when storing the document.
func problemsOf(src []byte, c *planner.Catalog) planner.Problems {
	_, problems := planner.Parse(src, planner.WithCatalog(c))
	return problems
}

func describe(ps planner.Problems) string {
	var b strings.Builder
	for _, p := range ps {
		fmt.Fprintf(&b, "%d:%d %s [%s]", p.Line, p.Column, p.Severity, p.Code)
		if p.Node != "" {
			fmt.Fprintf(&b, " %s", p.Node)
		}
		fmt.Fprintf(&b, ": %s", p.Message)
		if !p.Suggestion.IsZero() {
			fmt.Fprintf(&b, " (%s)", p.Suggestion)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func testCatalog() *planner.Catalog {
	return &planner.Catalog{
		Tools: map[string]planner.ToolInfo{
			"http": {Effect: walk.EffectUnsafe, Untrusted: true, Schema: map[string]any{"type": "object", "required": []any{"url"},
				"properties": map[string]any{
					"url":    map[string]any{"type": "string"},
					"method": map[string]any{"enum": []any{"GET", "POST"}},
				}}},
			"datetime":   {Effect: walk.EffectRead},
			"read_file":  {Effect: walk.EffectRead, Private: true},
			"calculator": {Effect: walk.EffectPure},
			"wire":       {Effect: walk.EffectUnsafe, Denied: func(plan string) bool { return plan != "treasury" }},
		},
		Agents: map[string]planner.AgentInfo{
			"support": {Effect: walk.EffectIdempotent, Models: []string{"small", "large"}},
			"billing": {Effect: walk.EffectUnsafe},
		},
		Skills: map[string]planner.SkillInfo{"generate_content": {Agent: "support"}, "keep": {Tool: "set"}},
		Types:  map[string]walk.Effect{"scrape": walk.EffectRead},
		Plan: func(name, _ string) (planner.PlanInfo, bool) {
			return planner.PlanInfo{Input: map[string]any{"type": "object", "required": []any{"order"}}}, name != "nowhere"
		},
	}
}
