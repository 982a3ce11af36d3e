package diagram_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

var update = flag.Bool("update", false, "write the golden files")

func program(tb testing.TB, src string) *walk.Program {
	tb.Helper()
	doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		tb.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// pictures are the plans whose pictures in testdata are reviewed by eye.
var pictures = map[string]string{
	"branchy": `
name: Invoice triage
nodes:
  fetch: {type: http, input: {url: "https://example.com/inbox"}}
  classify: {type: llm, input: "${last}"}
  route: {type: decision}
  extract_totals: {type: agent, agent: accountant}
  ask_person: {type: approval, on_reject: continue, input: {message: "Pay?"}}
  archive: {type: set, input: 1}
  spam_folder: {type: noop}
  pay: {type: http, input: {url: "https://example.com/pay", method: POST}}
  report: {type: plan, plan: weekly-report}
  alert: {type: log, input: "it failed"}
edges:
  - {from: fetch, to: classify}
  - {from: fetch, to: alert, condition: failed}
  - {from: classify, to: route}
  - {from: route, to: extract_totals, condition: "last==invoice"}
  - {from: route, to: spam_folder, condition: "last.contains:unsubscribe now"}
  - {from: route, to: archive}
  - {from: extract_totals, to: ask_person, condition: "expr: last.total > 1000"}
  - {from: extract_totals, to: pay}
  - {from: ask_person, to: pay, condition: "last.approved==true"}
  - {from: ask_person, to: archive, condition: default}
  - {from: pay, to: report}
  - {from: archive, to: report}
`,
	"loop": `
name: Draft until good
start: draft
nodes:
  draft: {type: llm, max_visits: 5}
  review: {type: decision, max_visits: 5}
  improve: {type: agent, max_visits: 5}
  wait_a_bit: {type: wait, input: {for: 10s}, max_visits: 5}
  publish: {type: http, input: {url: "https://example.com"}}
edges:
  - {from: draft, to: review}
  - {from: review, to: publish, condition: "last==good"}
  - {from: review, to: improve, condition: "last==weak"}
  - {from: review, to: review, condition: "last==again"}
  - {from: review, to: draft}
  - {from: improve, to: wait_a_bit}
  - {from: wait_a_bit, to: draft}
`,
	"fanout": func() string {
		var b strings.Builder
		b.WriteString("name: Fan-out\nnodes:\n  load: {type: csv}\n")
		var all []string
		for i := range 98 {
			fmt.Fprintf(&b, "  work_%02d: {type: http, needs: [load]}\n", i)
			all = append(all, fmt.Sprintf("work_%02d", i))
		}
		fmt.Fprintf(&b, "  join: {type: set, input: 1, needs: [%s]}\n", strings.Join(all, ", "))
		return b.String()
	}(),
	"needs": `
name: Quarter close
nodes:
  sales: {type: csv}
  costs: {type: csv}
  rates: {type: http}
  convert: {type: calculator, needs: [sales, rates]}
  totals: {type: csv, needs: [convert, costs]}
  anomalies: {type: agent, needs: [costs]}
  chart: {type: exec, needs: [totals]}
  letter: {type: llm, needs: [totals, anomalies]}
  sign: {type: approval, input: {message: "Sign?"}, needs: [letter]}
  publish: {type: http, needs: [sign, chart]}
  cleanup: {type: exec, needs: [publish, rates], when: always}
  warn: {type: log, input: x, needs: [publish], when: failure}
  each: {type: http, foreach: input.customers, needs: [sign]}
`,
	"race": `
name: First price
nodes:
  load: {type: csv}
  east: {type: http, needs: [load]}
  west: {type: http, needs: [load]}
  deadline: {type: wait, input: {for: 1m}}
  price: {type: set, race: [east, west, deadline], input: "${last}"}
  store: {type: csv, needs: [price]}
`,
	"relay": `
name: Work that passes from one agent to another
nodes:
  read: {type: agent, agent: reader}
  again: {type: agent, agent: reader}
  write: {type: agent, agent: writer}
  send_to_everybody: {type: http, effect: unsafe, input: {method: POST, url: "https://example.com"}}
edges:
  - {from: read, to: again}
  - {from: again, to: write}
  - {from: write, to: send_to_everybody}
`,
	"steps": `
description: Research and write
steps:
  - {id: step-1, skillId: search_web, task: find}
  - {id: step-2, agentId: analyst, task: analyse}
  - {id: step-3, tool: http, task: post, condition: {type: custom, expr: "last.ok == true"}}
`,
}

func TestPictures(t *testing.T) {
	t.Parallel()
	for name, src := range pictures {
		p := program(t, src)
		for ext, got := range map[string]string{".svg": string(diagram.SVG(diagram.Layout(p, diagram.Options{}))),
			".mmd": diagram.Mermaid(p), ".dot": diagram.DOT(p)} {
			file := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, string(want)); d != "" {
				t.Errorf("%s differs; look at it, then run with -update:\n%.2000s", file, d)
			}
		}
	}
}

// graph draws a random plan: edges in any direction, or needs.
func graph(nodes, edges int, needs bool, pick func(n int) int) string {
	var b strings.Builder
	b.WriteString("start: n0\nnodes:\n")
	if needs {
		b.Reset()
		b.WriteString("nodes:\n")
	}
	for i := range nodes {
		fmt.Fprintf(&b, "  n%d: {type: set, input: 1, max_visits: 9", i)
		if needs && i > 0 {
			seen := map[int]bool{}
			for range 1 + pick(3) {
				seen[pick(i)] = true
			}
			var list []string
			for j := range i {
				if seen[j] {
					list = append(list, fmt.Sprintf("n%d", j))
				}
			}
			fmt.Fprintf(&b, ", needs: [%s]", strings.Join(list, ", "))
		}
		b.WriteString("}\n")
	}
	if needs {
		return strings.ReplaceAll(b.String(), ", max_visits: 9", "")
	}
	b.WriteString("edges:\n")
	for i := 1; i < nodes; i++ {
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d, condition: \"last==%d\"}\n", pick(i), i, i)
	}
	for i := range edges {
		cond := ""
		if i%2 == 0 {
			cond = fmt.Sprintf(", condition: \"last==x%d\"", i)
		}
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d%s}\n", pick(nodes), pick(nodes), cond)
	}
	return b.String()
}

type rect struct {
	name       string
	x, y, w, h float64
}

func (a rect) meets(b rect) bool {
	const hair = 0.01
	return a.x+a.w > b.x+hair && b.x+b.w > a.x+hair && a.y+a.h > b.y+hair && b.y+b.h > a.y+hair
}

// sound checks that no boxes or labels overlap, and that everything is inside the picture.
func sound(d *diagram.Drawing) error {
	var boxes []rect
	for _, n := range d.Nodes {
		boxes = append(boxes, rect{n.ID, n.X, n.Y, n.W, n.H})
	}
	for _, e := range d.Edges {
		if e.Label != "" {
			boxes = append(boxes, rect{e.From + "→" + e.To, e.LabelX - e.LabelW/2, e.LabelY - e.LabelH/2, e.LabelW, e.LabelH})
		}
		if strings.Contains(e.Path+e.Arrow, "NaN") || strings.Contains(e.Path, "Inf") {
			return fmt.Errorf("%s→%s: path %s", e.From, e.To, e.Path)
		}
	}
	for i, a := range boxes {
		if a.x < 0 || a.y < 0 || a.x+a.w > d.Width || a.y+a.h > d.Height {
			return fmt.Errorf("%v is outside of %v×%v", a, d.Width, d.Height)
		}
		for _, b := range boxes[:i] {
			if a.meets(b) {
				return fmt.Errorf("%v and %v overlap", a, b)
			}
		}
	}
	return nil
}

func TestNothingOverlaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		r := rand.New(rand.NewPCG(seed, 1))
		nodes := rapid.IntRange(1, 90).Draw(rt, "nodes")
		src := graph(nodes, rapid.IntRange(0, 2*nodes).Draw(rt, "edges"), rapid.Bool().Draw(rt, "needs"), r.IntN)
		p := program(t, src)
		d := diagram.Layout(p, diagram.Options{})
		if err := sound(d); err != nil {
			rt.Fatal(err)
		}
		if again := diagram.Layout(program(t, src), diagram.Options{}); !bytes.Equal(diagram.SVG(d), diagram.SVG(again)) {
			rt.Fatal("the same plan gave two pictures")
		}
		if len(d.Nodes) != nodes {
			rt.Fatalf("%d nodes drawn of %d", len(d.Nodes), nodes)
		}
		wrapped := diagram.Layout(p, diagram.Options{Room: diagram.Room{W: 800, H: 500}})
		if err := sound(wrapped); err != nil {
			rt.Fatal(err)
		}
		if err := inside(wrapped); err != nil {
			rt.Fatal(err)
		}
	})
}

// A large plan is drawn within seconds. The bound detects algorithms that practically never end:
// 5,000 nodes have 12 million pairs.
func TestLargePlansAreDrawnInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes, edges int
		needs        bool
	}{"200 nodes": {200, 100, false}, "5,000 nodes": {4999, 5000, false}, "5,000 with needs": {4999, 0, true}} {
		r := rand.New(rand.NewPCG(7, 7))
		p := program(t, graph(c.nodes, c.edges, c.needs, r.IntN))
		start := time.Now()
		d := diagram.Layout(p, diagram.Options{})
		if took := time.Since(start); took > 4*time.Minute {
			t.Errorf("%s took %s", name, took)
		}
		if c.nodes <= 200 {
			if err := sound(d); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestLongChainWithLongEdges(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("start: n0\nnodes:\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  n%d: {type: set, input: 1, max_visits: 9}\n", i)
	}
	b.WriteString("edges:\n")
	for i := 1; i < 3000; i++ {
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n  - {from: n%d, to: n%d, condition: \"last==1\"}\n", i-1, i, i, i/2)
	}
	d := diagram.Layout(program(t, b.String()), diagram.Options{})
	if len(d.Edges) != 2*2999 {
		t.Errorf("%d edges", len(d.Edges))
	}
}

// A text of a plan never becomes markup in a picture, or a statement in a chart.
func TestHostileText(t *testing.T) {
	t.Parallel()
	hostile := "\"];\\n</text><script>alert(1)</script>]]>&amp;-->|x| end\\u202e `#quot; %%{init}%% click n0 href"
	src := fmt.Sprintf(
		"name: %[1]q\nnodes:\n  a: {type: set, input: 1}\n  b: {type: tool, tool: %[1]q}\nedges:\n  - {from: a, to: b, condition: %[2]q}\n",
		hostile,
		"last=="+hostile,
	)
	doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	if doc == nil {
		t.Fatal(problems)
	}
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	svg := diagram.SVG(diagram.Layout(p, diagram.Options{}))
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && !strings.Contains(" svg title style g path rect text ", " "+e.Name.Local+" ") {
			t.Errorf("element %s in the picture", e.Name.Local)
		}
	}
	if bytes.ContainsRune(svg, '\u202e') {
		t.Error("an invisible character came through")
	}
	mermaid := diagram.Mermaid(p)
	if n := strings.Count(mermaid, "\n"); n != 4 {
		t.Errorf("%d lines of Mermaid, want 4:\n%s", n, mermaid)
	}
	for line := range strings.Lines(mermaid) {
		if strings.Count(line, `"`)%2 != 0 || strings.Count(line, `"`) > 2 || strings.Contains(line, "<script") {
			t.Errorf("Mermaid line %s", line)
		}
	}
	dot := diagram.DOT(p)
	if n := strings.Count(dot, "\n"); n != 7 {
		t.Errorf("%d lines of DOT, want 7:\n%s", n, dot)
	}
	for line := range strings.Lines(dot) {
		plain := strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, "")
		if strings.Count(plain, `"`)%2 != 0 {
			t.Errorf("DOT line %s", line)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	t.Parallel()
	d := diagram.Layout(&walk.Program{}, diagram.Options{})
	if err := sound(d); err != nil || len(d.Nodes) != 0 {
		t.Error(err)
	}
	if !bytes.Contains(diagram.SVG(d), []byte("<svg")) {
		t.Error("no picture")
	}
}

func BenchmarkLayout(b *testing.B) {
	for _, n := range []int{30, 200, 1000} {
		p := program(b, graph(n, n/2, false, rand.New(rand.NewPCG(7, 7)).IntN))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				diagram.Layout(p, diagram.Options{})
			}
		})
	}
}

// An agent that can hand off has an arrow to its target. A step with side effects has a
// badge in boxes of every size, and the box has room for it.
func TestMarksOfNodes(t *testing.T) {
	t.Parallel()
	for _, compact := range []bool{false, true} {
		d := diagram.Layout(program(t, pictures["relay"]), diagram.Options{Compact: compact})
		shapes, ends := map[string]diagram.Shape{}, map[string]string{}
		for _, n := range d.Nodes {
			shapes[n.ID], ends[n.ID] = n.Shape, n.Label
		}
		if shapes["read"] != diagram.ShapeAgent || shapes["again"] != diagram.ShapeHandoff || shapes["write"] != diagram.ShapeAgent {
			t.Errorf("shapes: %v", shapes)
		}
		if n := len([]rune(ends["send_to_everybody"])); compact && n != 11 || !compact && n != 16 {
			t.Errorf("compact %v: %q", compact, ends["send_to_everybody"])
		}
		if svg := string(diagram.SVG(d)); strings.Count(svg, `<path class="b"`) != 1 || !strings.Contains(svg, "side effects") ||
			strings.Count(svg, `<path class="i"`) != 1 {
			t.Error(svg)
		}
	}
}
