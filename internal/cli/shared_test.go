package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// shared is a directory with plans by other people, next to the repository. Without it, its tests
// are skipped.
func shared(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "plans")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no plans of other people beside the repository")
	}
	return dir
}

// Plans in our format are valid. For other plans, the first message contains the mistake and its
// position.
func TestPlansOfOtherSystems(t *testing.T) {
	t.Parallel()
	dir := shared(t)
	ok := regexp.MustCompile(`^(kairos/06-explicit-planner|kairos-extracted/(06-|parser_test|Conceptos_Planner\.hello|walkthrough))`)
	reasons := map[string]string{ // by directory or file, the message that its author needs
		"swarm/":     "this is a plan of another system, with activities",
		"yamlgraph/": "unknown key",
		"kairos/demoKairos.orchestrator_plan.yaml":                         `unknown step type "detect_intent"`,
		"kairos-extracted/Conceptos_Planner.branching-edges-fragment.yaml": "the plan has neither nodes nor steps",
		"kairos-extracted/ORCHESTRATION_PLATFORM.1.yaml":                   `unknown agent "classifier-agent"`,
	}
	// Plans in our form are drawn although their types are unknown here.
	drawn := regexp.MustCompile(`^(kairos/|kairos-extracted/ORCH)`)
	s := newShell(t)
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		if err != nil || d.IsDir() || strings.HasPrefix(name, "kairos-demo-data/") ||
			!strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".json") {
			return err
		}
		seen++
		good := ok.MatchString(name)
		stdout, stderr, code := s.run("validate", path)
		if good && code != 0 {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
		}
		if !good {
			want := reasons[name]
			if want == "" {
				want = reasons[strings.SplitAfter(name, "/")[0]]
			}
			where := regexp.MustCompile(regexp.QuoteMeta(path) + `:\d+:\d+: error: `)
			if all := stdout + stderr; code != 2 || want == "" || !strings.Contains(all, want) || !where.MatchString(all) {
				t.Errorf("%s: exit %d, want 2 and %q with a place\n%s", name, code, want, all)
			}
		}
		for format, begin := range map[string]string{"mermaid": "flowchart", "dot": "digraph", "svg": "<svg"} {
			stdout, stderr, code := s.run("plans", "graph", path, "--format", format)
			switch {
			case (good || drawn.MatchString(name)) && (code != 0 || !strings.Contains(stdout, begin)):
				t.Errorf("graph %s --format %s: exit %d\n%s%s", name, format, code, stdout, stderr)
			case code != 0 && code != 2:
				t.Errorf("graph %s --format %s: exit %d\n%s", name, format, code, stderr)
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d plans: %v", seen, err)
	}
}

// Totals of real tables equal those of another program for the same file.
func TestTotalsOfRealTables(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shared(t), "kairos-demo-data")
	total := func(file, by, column string) map[string]float64 {
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]int{}
		for i, name := range rows[0] {
			at[name] = i
		}
		sums := map[string]float64{}
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(row[at[column]], 64)
			if err != nil {
				t.Fatal(err)
			}
			sums[row[at[by]]] += v
		}
		return sums
	}
	s := newShell(t)
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan := s.file("totals.yaml", `
id: totals
nodes:
  sales: {type: read_file, input: {path: `+strconv.Quote(filepath.Join(abs, "ventas.csv"))+`}}
  costs: {type: read_file, input: {path: `+strconv.Quote(filepath.Join(abs, "gastos.csv"))+`}}
  by_region: {type: csv, needs: [sales], input: {text: "${output.sales.content}", group_by: [region], aggregate: {total: sum(net_sales)}}}
  by_category: {type: csv, needs: [costs], input: {text: "${output.costs.content}", group_by: [category], aggregate: {total: sum(amount)}}}
  report: {type: set, needs: [by_region, by_category], input: {sales: "${output.by_region.rows}", costs: "${output.by_category.rows}"}}
`)
	config := s.file("kairos.yaml", "tools:\n  files:\n    roots: ["+strconv.Quote(abs)+"]\n")
	r := s.result(0, "run", "--plan", plan, "--config", config, "--json")
	var got struct {
		Sales, Costs []map[string]any
	}
	if err := json.Unmarshal(r.Output, &got); err != nil {
		t.Fatalf("%v: %s", err, r.Output)
	}
	check := func(what string, rows []map[string]any, key string, want map[string]float64) {
		if len(rows) != len(want) {
			t.Errorf("%s: %d rows, want %d", what, len(rows), len(want))
		}
		for _, row := range rows {
			if name, _ := row[key].(string); row["total"] != want[name] {
				t.Errorf("%s of %s: %v, want %v", what, name, row["total"], want[name])
			}
		}
	}
	check("sales", got.Sales, "region", total("ventas.csv", "region", "net_sales"))
	check("costs", got.Costs, "category", total("gastos.csv", "category", "amount"))
}
