package walk_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// shapes of large plans: a chain, all nodes at once, rows of joins.
var shapes = []struct {
	name string
	plan func(n int) *planner.Graph
}{
	{"chain", func(n int) *planner.Graph {
		g := &planner.Graph{Nodes: map[string]planner.Node{}}
		for i := range n {
			g.Nodes[fmt.Sprintf("n%05d", i)] = planner.Node{Type: "work"}
			if i > 0 {
				g.Edges = append(g.Edges, planner.Edge{From: fmt.Sprintf("n%05d", i-1), To: fmt.Sprintf("n%05d", i)})
			}
		}
		return g
	}},
	{"fan-out", func(n int) *planner.Graph {
		g := &planner.Graph{Nodes: map[string]planner.Node{"n00000": {Type: "work"}}}
		for i := 1; i < n; i++ {
			g.Nodes[fmt.Sprintf("n%05d", i)] = planner.Node{Type: "work", Needs: []string{"n00000"}}
		}
		return g
	}},
	{"grid", func(n int) *planner.Graph {
		const wide = 10
		g := &planner.Graph{Nodes: map[string]planner.Node{}}
		for i := range n {
			node := planner.Node{Type: "work"}
			if row := i / wide; row > 0 {
				for _, j := range []int{i % wide, (i + 1) % wide, (i + 2) % wide} {
					node.Needs = append(node.Needs, fmt.Sprintf("n%05d", (row-1)*wide+j))
				}
			}
			g.Nodes[fmt.Sprintf("n%05d", i)] = node
		}
		return g
	}},
}

// sizes are within the limit of 5,000 nodes per document.
var sizes = []int{100, 1000, 5000}

// walkAll settles all visits and returns the rows of a journal.
func walkAll(tb testing.TB, p *walk.Program, keep bool) []row {
	w := walk.New(p, walk.Facts{})
	var rows []row
	for {
		ready := w.Ready()
		if len(ready) == 0 {
			break
		}
		for _, k := range ready {
			s := walk.Settlement{VisitKey: k, Item: -1, Status: walk.Completed, Output: "done"}
			d, err := w.Settle(s)
			if err != nil {
				tb.Fatal(err)
			}
			if keep {
				rows = append(rows, row{settled: s, decision: d})
			}
		}
	}
	if !w.Outcome().Done {
		tb.Fatal("the walk is not done")
	}
	return rows
}

func compiled(tb testing.TB, g *planner.Graph) *walk.Program {
	tb.Helper()
	p, err := g.Compile(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkSettle measures the cost per node, which must not grow with the size of the plan.
func BenchmarkSettle(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				p := compiled(b, shape.plan(n))
				b.ReportAllocs()
				for b.Loop() {
					walkAll(b, p, false)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
			})
		}
	}
}

// BenchmarkReplay measures the cost per row of replaying a long journal.
func BenchmarkReplay(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				p := compiled(b, shape.plan(n))
				rows := walkAll(b, p, true)
				b.ReportAllocs()
				for b.Loop() {
					w := walk.New(p, walk.Facts{})
					for _, r := range rows {
						if err := w.Replay(r.settled, r.decision); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
			})
		}
	}
}

// replayedPlans use every field of a decision.
var replayedPlans = []string{
	`{"start":"n0","strict":true,"nodes":{"n0":{"type":"work","max_visits":3},"n1":{"type":"work","on_error":"skip"},"n2":{"type":"work"}},
	  "edges":[{"from":"n0","to":"n1","condition":"last.n==1"},{"from":"n0","to":"n2","condition":"failed"},{"from":"n0","to":"n0"},{"from":"n1","to":"n2","condition":"expr: last.n > 1"}]}`,
	`{"nodes":{"n0":{"type":"work"},"n1":{"type":"work","foreach":"${input.list}"},"n2":{"type":"work","needs":["n0","n1"],"when":"always"},
	  "n3":{"type":"work","needs":["n2"],"when":"expr: last.n > 1"},"n4":{"type":"work"}},"edges":[{"from":"n2","to":"n4"}]}`,
	`{"steps":[{"id":"n0","tool":"work"},{"id":"n1","tool":"work","condition":{"type":"failure"}},{"id":"n2","tool":"work"}]}`,
}

// FuzzReplay replays damaged journals. Replay rejects them, or returns a walk that can be read. It
// never panics or loops forever.
func FuzzReplay(f *testing.F) {
	var programs []*walk.Program
	for i, src := range replayedPlans {
		d, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
		if d == nil {
			f.Fatal(problems)
		}
		p, err := d.Program(nil)
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, p)
		f.Add(uint8(i), `{"Node":0,"Visit":1,"Item":-1,"Status":"completed","Output":{"n":1}}`+"\n"+`{"edge":1,"to":"n1"}`)
		f.Add(uint8(i), `{"Node":0,"Visit":1,"Item":-1,"Status":"failed"}`+"\n"+`{}`+"\n"+`reset {"reopened":[{"node":"n0","visit":1}]}`)
		f.Add(
			uint8(i),
			`{"Node":1,"Visit":1,"Item":2,"Status":"completed"}`+"\n"+
				`{"visit":"completed","settled":[{"node":"n3","visit":1,"status":"ready"}]}`,
		)
		f.Add(
			uint8(i),
			`{"Node":0,"Visit":1,"Item":-1,"Status":"odd"}`+"\n"+`{"edge":99,"ended":"x","handled":"edge","failure":{"code":"x"}}`,
		)
	}
	f.Fuzz(func(t *testing.T, which uint8, journal string) {
		p := programs[int(which)%len(programs)]
		w := walk.New(p, walk.Facts{Input: map[string]any{"list": []any{"a", "b", "c"}}})
		lines := strings.Split(journal, "\n")
		for i := 0; i < len(lines); i++ {
			if text, ok := strings.CutPrefix(lines[i], "reset "); ok {
				var r walk.Reset
				if json.Unmarshal([]byte(text), &r) == nil && w.ReplayReset(r) != nil {
					return
				}
				continue
			}
			var s walk.Settlement
			var d walk.Decision
			if json.Unmarshal([]byte(lines[i]), &s) != nil {
				continue
			}
			if i++; i < len(lines) {
				_ = json.Unmarshal([]byte(lines[i]), &d) // keeps what can be decoded
			}
			if w.Replay(s, d) != nil {
				return
			}
		}
		w.Ready()
		for _, k := range w.Open() {
			w.Items(k)
			w.NextItem(k)
			w.Input(k, -1)
			w.Input(k, 0)
		}
		w.Outcome()
		w.Stop()
		w.Reset()
	})
}
