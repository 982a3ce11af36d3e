package metric_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/metric"
)

var update = flag.Bool("update", false, "write the table of docs/reference/metrics.md")

// The reference contains every metric of kairosd, with the type and labels of a scrape.
func TestMetricsReference(t *testing.T) {
	const file, begin = "../../docs/reference/metrics.md", "<!-- metrics: go test ./internal/metric -run TestMetricsReference -update -->\n"
	r := metric.New(metric.Options{Version: "1"})
	source(r)
	r.Planned(time.Millisecond)
	r.HandleCommit(aRun("r1"))
	r.Batch(1, time.Millisecond)
	r.Request("/", "GET", 200, time.Millisecond)
	text := scrape(t, r)
	help := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# HELP ((?:kairos|planner)\S+) (.*)$`).FindAllStringSubmatch(text, -1) {
		help[m[1]] = m[2]
	}
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE ((?:kairos|planner)\S+) (\w+)$`).FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, sample := range regexp.MustCompile(`(?m)^`+m[1]+`(?:_count)?\{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
			for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(sample[1], -1) {
				if !slices.Contains(labels, "`"+l[1]+"`") {
					labels = append(labels, "`"+l[1]+"`")
				}
			}
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", m[1], m[2], strings.Join(labels, ", "), help[m[1]]))
	}
	slices.Sort(rows)
	want := "\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, got, ok := strings.Cut(string(page), begin)
	if !ok {
		t.Fatal("docs/reference/metrics.md has no place for the table")
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/reference/metrics.md is out of date; run go test ./internal/metric -run TestMetricsReference -update\n%s", d)
	}
}
