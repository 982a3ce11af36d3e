package run_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// changing are parts of pages that differ between requests.
var changing = []struct {
	match *regexp.Regexp
	as    string
}{
	{regexp.MustCompile(`/static/[0-9a-f]+/`), "/static/…/"},
	{regexp.MustCompile(`(name="(?:csrf|idem)" value=")[^"]*`), "${1}…"},
	{regexp.MustCompile(`Rendered in \d+ ms`), "Rendered in … ms"},
}

// The pages of the stories' runs, with timelines and graphs, equal the golden files. After an
// intended change, review the differences and run with -update. The clock is fixed, so that the
// pages are reproducible.
func TestRunPagesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	o := &storyServer{
		runs: []*story{
			failedStory(t),
			waitingStory(t),
			manyStory(t, "01jr8k2mf0s0000000007qx4", 10_000),
			manyStory(t, "01jr8k2mf0s0000000007qx9", 6),
			loopStory(t),
			forkStory(t),
			hostileStory(t),
			emptyStory(t),
			wideStory(t, "01jr8k2mf0s0000000007qxa", 500),
		},
	}
	for name, path := range map[string]string{
		"failed":       "7qx2",
		"critical":     "7qx2?critical=show&from=36s&sort=took",
		"graph":        "7qx2?view=graph&paint=took",
		"not-started":  "7qx2?view=graph&node=post_ledger&zoom=fit",
		"log":          "7qx2?view=log&level=warn",
		"state":        "7qx2?view=state",
		"waiting":      "7qx3",
		"many":         "7qx4",
		"few":          "7qx9",
		"loop":         "7qx5?step=1&tab=calls&open=1",
		"loop-ran":     "7qx5?view=graph&mode=ran",
		"handoffs":     "7qx2?view=handoffs",
		"fork":         "7qx6",
		"hostile":      "7qx7",
		"hostile-log":  "7qx7?view=log",
		"empty":        "7qx8",
		"folded-graph": "7qxa?view=graph&node=step_100",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, query, _ := strings.Cut(path, "?")
			s, err := o.of(id)
			if err != nil {
				t.Fatal(err)
			}
			got := o.look(t, "/runs/"+s.run.ID+"?"+query)
			_, got, _ = strings.Cut(got, `<main id="main"`) // all pages have the same layout around it
			got, _, _ = strings.Cut(`<main id="main"`+got, "</main>")
			for _, c := range changing {
				got = c.match.ReplaceAllString(got, c.as)
			}
			got = strings.ReplaceAll(strings.ReplaceAll(got, "><", ">\n<"), "  ", " ") + "\n"
			file := filepath.Join("testdata", "run-"+name+".html")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s is not what it was; look at it, then run with -update:\n%.3000s", file, d)
			}
		})
	}
}
