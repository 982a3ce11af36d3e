package planner_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/planner"
)

// chain returns a linear graph of n nodes, in YAML or JSON.
func chain(n int, f planner.Format) []byte {
	var b strings.Builder
	if f == planner.FormatJSON {
		b.WriteString(`{"nodes":{`)
		for i := range n {
			fmt.Fprintf(&b, `"n%d":{"type":"set","input":{"v":%d}},`, i, i)
		}
		text := strings.TrimSuffix(b.String(), ",") + `},"edges":[`
		b.Reset()
		for i := range n - 1 {
			fmt.Fprintf(&b, `{"from":"n%d","to":"n%d"},`, i, i+1)
		}
		return []byte(text + strings.TrimSuffix(b.String(), ",") + "]}")
	}
	b.WriteString("nodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  n%d:\n    type: set\n    input: {v: %d}\n", i, i)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
	}
	return []byte(b.String())
}

// P18, P20, P21: every limit has a clear error, and a document just below it is accepted.
func TestLimits(t *testing.T) {
	t.Parallel()
	edges := func(n int) string {
		return "start: a\nnodes: {a: {type: noop}, b: {type: noop}}\nedges:\n" + strings.Repeat("- {from: a, to: b}\n", n)
	}
	flow := func(depth int) string { // depth is the number of nested containers
		return "{nodes: {a: {type: set, input: " + strings.Repeat("[", depth-3) + strings.Repeat("]", depth-3) + "}}}"
	}
	bomb := "x-a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("x-%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	block := func(depth int) string {
		var b strings.Builder
		b.WriteString("nodes:\n a:\n  type: set\n  input:\n")
		for i := range depth - 3 {
			b.WriteString(strings.Repeat(" ", i+3) + "x:\n")
		}
		return b.String()
	}
	for _, c := range []struct {
		id, name, src string
		f             planner.Format
		want          string // code, or "" if the document is accepted
	}{
		{"P21", "document above 1 MiB", "nodes: {a: {type: set, input: '" + strings.Repeat("x", 1<<20) + "'}}", planner.FormatYAML,
			"document.too_large"},
		{"P21", "a string just below 1 MiB", "nodes: {a: {type: set, input: '" + strings.Repeat("x", 1<<20-100) + "'}}",
			planner.FormatYAML, ""},
		{"P21", "5,000 nodes", string(chain(5000, planner.FormatYAML)), planner.FormatYAML, ""},
		{"P21", "5,001 nodes", string(chain(5001, planner.FormatYAML)), planner.FormatYAML, "plan.too_many_nodes"},
		{"P21", "5,001 nodes in JSON", string(chain(5001, planner.FormatJSON)), planner.FormatJSON, "plan.too_many_nodes"},
		{"P21", "20,000 edges", edges(20000), planner.FormatYAML, ""},
		{"P21", "20,001 edges", edges(20001), planner.FormatYAML, "plan.too_many_edges"},
		{"P21", "5,001 steps", "steps:\n" + strings.Repeat("- {id: a, tool: set}\n", 5001), planner.FormatYAML, "plan.too_many_nodes"},
		{"P20", "64 levels", flow(64), planner.FormatYAML, ""},
		{"P20", "65 levels", flow(65), planner.FormatYAML, "document.depth"},
		{"P20", "64 levels in JSON", `{"nodes": {"a": {"type": "set", "input": ` + strings.Repeat("[", 61) + strings.Repeat("]",
			61) + "}}}", planner.FormatJSON, ""},
		{"P20", "65 levels in JSON", `{"nodes": {"a": {"type": "set", "input": ` + strings.Repeat("[", 62) + strings.Repeat("]",
			62) + "}}}", planner.FormatJSON, "document.depth"},
		{"P20", "64 block levels", block(64), planner.FormatYAML, ""},
		{"P20", "65 block levels", block(65), planner.FormatYAML, "document.depth"},
		{"P20", "10,001 brackets", strings.Repeat("[", 10001), planner.FormatYAML, "document.depth"},
		{"P20", "a million brackets", strings.Repeat("[", 1e6), planner.FormatYAML, "document.depth"},
		{"P20", "a million braces in JSON", strings.Repeat(`{"a":`, 2e5), planner.FormatJSON, "document.depth"},
		{"P20", "3,000 nested block maps", block(1200), planner.FormatYAML, "document.depth"},
		{"P20", "dashes in a row", strings.Repeat("- ", 5e5), planner.FormatYAML, "document.depth"},
		{"P18", "alias bomb", bomb + "nodes: {a: {type: set, input: *i}}", planner.FormatYAML, "yaml.alias_limit"},
		{"P18", "a few aliases", "x-a: &a [1, 2]\nnodes: {a: {type: set, input: [*a, *a]}}", planner.FormatYAML, ""},
	} {
		t.Run(c.id+" "+c.name, func(t *testing.T) {
			t.Parallel()
			d, problems := planner.Parse([]byte(c.src), planner.WithFormat(c.f))
			if c.want == "" {
				if d == nil {
					t.Fatalf("refused: %.500v", problems)
				}
				return
			}
			if d != nil || len(problems) == 0 || problems[0].Code != c.want {
				t.Fatalf("got %.300v, want %s", problems, c.want)
			}
		})
	}
}

// Parse lists at most 50 errors and counts the others in a note.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	src := "nodes:\n"
	for i := range 60 {
		src += fmt.Sprintf("  n%d: {typ: noop}\n", i)
	}
	_, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatYAML))
	last := problems[len(problems)-1]
	if len(problems) != 51 || last.Code != "too_many_problems" || last.Message.String() != "and 70 more errors" {
		t.Errorf("got %d problems, the last %v; want 50 and a note of 70 more", len(problems), last)
	}
}

// A malicious document within the limits takes no longer to parse than a large valid plan. Each
// case is near the size limit and aims at one place that could take quadratic time.
func TestEveryInputIsParsedInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	head := "start: n0\nnodes:\n" + many(5000, "  n%d: {type: noop}\n")
	oneLine := func(s string) string { return strings.ReplaceAll(s, "\n", " ") }
	cases := map[string]string{
		"unknown edge ends": head + "edges:\n" + many(15000, "- {from: x%d, to: yy}\n"),
		"unknown needs":     "nodes:\n a: {type: noop, needs: [" + many(90000, "n%d,") + "]}",
		"duplicate needs":   "nodes:\n b: {type: noop}\n a: {type: noop, needs: [" + strings.Repeat("b,", 300000) + "]}",
		"unknown types":     "start: n0\nnodes:\n" + many(5000, "  n%d: {type: nop}\n"),
		"unknown keys":      "nodes:\n a:\n  type: noop\n" + many(60000, "  k%d: 1\n"),
		"extension keys and refs": "nodes:\n a:\n  type: set\n" + many(
			30000,
			"  x-k%d: 1\n",
		) + "  input: [" + strings.Repeat(
			"'${output.a}',",
			30000,
		) + "]",
		"keys of an input": "nodes:\n a:\n  type: set\n  input: {" + many(40000, "k%d: '${output.a}',") + "}",
		"one star": "nodes:\n" + many(
			4999,
			"  n%d: {type: noop}\n",
		) + "  s: {type: noop}\nedges:\n" + many(
			4999,
			"- {from: s, to: n%d, condition: 'last==x'}\n",
		),
		"edges of one node": "nodes: {a: {type: noop}, b: {type: noop}}\nedges:\n" + many(
			20000,
			"- {from: a, to: b, condition: last==%d}\n",
		),
		"expressions": "nodes: {a: {type: noop}, b: {type: noop}}\nedges:\n" + many(
			2000,
			"- {from: a, to: b, condition: 'expr: last == %d'}\n",
		),
		"backwards chain with refs": "start: n4999\nnodes:\n" + many(
			5000,
			"  n%d: {type: set, input: '${output.n4999}'}\n",
		) + "edges:\n" + many(
			4999,
			"- {from: n%[1]d_, to: n%[1]d}\n",
		),
		"all to all": "start: n0\nnodes:\n" + many(
			140,
			"  n%d: {type: set, max_visits: 9, input: '${output.n0}'}\n",
		) + "edges:\n" + allToAll(
			140,
		),
		"one long cycle": "start: n0\nnodes:\n" + many(
			5000,
			"  n%d: {type: set, input: '${output.n1}'}\n",
		) + "edges:\n" + many(
			4999,
			"- {from: n%d, to: N}\n",
		),
		"needs of everything": "nodes:\n  a: {type: noop}\n" + many(
			400,
			"  n%d: {type: noop, needs: ["+strings.TrimSuffix(many(400, "a%d,"), ",")+"]}\n",
		),
		"many schemas": "start: n0\nnodes:\n" + many(
			5000,
			"  n%d: {type: llm, output_schema: {type: object, properties: {a%[1]d: {type: string}}}}\n",
		),
		"one large schema": "nodes:\n a: {type: llm, output_schema: {properties: {" + many(40000, "p%d: {type: string},") + "}}}",
		"step references":  "steps:\n" + many(5000, "- {id: s%d, tool: set, params: {a: s1.result.x, b: s2.result}}\n"),
		"ambiguous names": "nodes:\n" + many(
			5000,
			"  n%d: {type: noop, id: m%[1]d}\n",
		) + "edges:\n" + many(
			15000,
			"- {from: q%d, to: n1}\n",
		),
		"quotes and brackets": "nodes: {a: {type: set, input: " + strings.Repeat("['", 400000),
		"long digits":         "nodes: {a: {type: set, input: " + strings.Repeat("9", 900000) + "e5}}",
		"huge exponent":       "nodes: {a: {type: set, input: 1e" + strings.Repeat("9", 900000) + "}}",
		"anchors":             many(40000, "x-a%d: &a%[1]d 1\n") + "nodes: {a: {type: noop}}",
		"long conditions": "nodes: {a: {type: noop}, b: {type: noop}}\nedges:\n" + strings.Repeat(
			"- {from: a, to: b, condition: 'last=="+strings.Repeat("x", 3000)+"'}\n",
			300,
		),
		"secret markers":         "nodes: {a: {type: set, input: '" + strings.Repeat("sk-AKIAghp_xoxAIza ", 50000) + "'}}",
		"references in one text": "nodes: {a: {type: set, input: '" + strings.Repeat("${output.zz}", 80000) + "'}}",
	}
	cases["plain conditions on no node"] = head + "edges:\n" + many(15000, "- {from: n0, to: n1, condition: output.x%d==1}\n")
	cases["expressions on no node"] = head + "edges:\n" + many(3000, "- {from: n0, to: n1, condition: 'expr: output.x%d==1'}\n")
	// On one line, the position of a problem is far from the beginning of the line.
	line := func(nodes, edges string) string { return `{"nodes":{` + nodes + `},"edges":[` + edges + `]}` }
	few := `"a":{"type":"decision"},"b":{"type":"noop"},"c":{"type":"noop"}`
	branch := `{"from":"a","to":"b","condition":"last==1"},{"from":"a","to":"c"},{"from":"b","to":"d"},{"from":"c","to":"d"}`
	cut := func(s string) string { return strings.TrimSuffix(s, ",") }
	cases["line: malformed conditions"] = line(few, cut(many(14000, `{"from":"a","to":"b","condition":"lst==%d"},`)))
	cases["line: malformed expressions"] = line(few, cut(many(14000, `{"from":"a","to":"b","condition":"expr: last == %d =="},`)))
	cases["line: malformed references"] = line(cut(many(5000, `"n%d":{"type":"set","input":"${nope.%[1]d}"},`)), "")
	cases["line: references that may be missing"] = line(
		few+`,"d":{"type":"set","input":[`+cut(strings.Repeat(`"${output.b}",`, 60000))+`]}`,
		branch,
	)
	cases["line: many missing in one text"] = line(few+`,"d":{"type":"set","input":"`+strings.Repeat(`${output.b}`, 80000)+`"}`, branch)
	cases["line: unknown references"] = line(few+`,"d":{"type":"set","input":[`+cut(strings.Repeat(`"${output.q}",`, 60000))+`]}`, branch)
	cases["line: items outside a foreach"] = line(few+`,"d":{"type":"set","input":"`+strings.Repeat(`${item.b}`, 80000)+`"}`, branch)
	cases["line: secrets"] = line(cut(many(5000, `"n%d":{"type":"llm","input":"${secret.K}"},`)), "")
	cases["line: foreach"] = line(cut(many(5000, `"n%d":{"type":"set","foreach":"${nope.%[1]d}"},`)), "")
	cases["line: expressions that read"] = line(few, cut(many(5000, `{"from":"a","to":"b","condition":"output.zz%d==1"},`)))
	cases["backwards chain with refs"] = backwards(5000)
	cases["one long cycle"] = cycle(5000)
	cases["needs of everything"] = layers(15, 90)
	// The test compares with a valid plan of 5,000 nodes. It measures the CPU time of this thread,
	// so that other processes do not change the ratio. Quadratic time exceeds the ratio by far.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	parse := func(s string) time.Duration {
		before := computed(t)
		planner.Parse([]byte(s), planner.WithFormat(planner.FormatYAML))
		return computed(t) - before
	}
	const most = 60
	for name, src := range cases {
		for _, s := range []string{src, oneLine(src)} {
			ratio := time.Duration(math.MaxInt64)
			for try := 0; try < 3 && ratio > most; try++ { // a garbage collection may slow one down
				ratio = min(ratio, parse(s)/max(parse(head), time.Millisecond))
			}
			if ratio > most {
				t.Errorf("%s (%d bytes): %d times a plain plan", name, len(s), ratio)
			}
			if s == src {
				t.Logf("%-28s %8d bytes %4d times a plain plan", name, len(s), ratio)
			}
		}
	}
}

// computed returns the CPU time of this thread.
func computed(t *testing.T) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if err := syscall.Getrusage(thread, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func allToAll(n int) string {
	var b strings.Builder
	for i := range n {
		for j := range n {
			fmt.Fprintf(&b, "- {from: n%d, to: n%d, condition: last==%d}\n", i, j, j)
		}
	}
	return b.String()
}

// backwards lists the nodes and edges of a chain from its end.
func backwards(n int) string {
	var nodes, edges strings.Builder
	for i := range n {
		fmt.Fprintf(&nodes, "  n%d: {type: set, input: '${output.n%d}'}\n", i, min(i+1, n-1))
		if i > 0 {
			fmt.Fprintf(&edges, "- {from: n%d, to: n%d}\n", i, i-1)
		}
	}
	return "nodes:\n" + nodes.String() + "edges:\n" + edges.String()
}

// cycle returns a loop through all nodes with an edge from each to the first.
func cycle(n int) string {
	var nodes, edges strings.Builder
	for i := range n {
		fmt.Fprintf(&nodes, "  n%d: {type: set, max_visits: 9, input: '${output.n%d}'}\n", i, (i+n/2)%n)
		fmt.Fprintf(&edges, "- {from: n%d, to: n%d}\n- {from: n%d, to: n0, condition: last==x}\n", i, (i+1)%n, i)
	}
	return "start: n0\nnodes:\n" + nodes.String() + "edges:\n" + edges.String()
}

// layers returns nodes in layers. Each node needs and reads all nodes of the previous layer.
func layers(count, width int) string {
	var b strings.Builder
	for l := range count {
		for i := range width {
			fmt.Fprintf(&b, "  l%d_%d: {type: noop", l, i)
			if l > 0 {
				var before []string
				for j := range width {
					before = append(before, fmt.Sprintf("l%d_%d", l-1, j))
				}
				fmt.Fprintf(&b, ", needs: [%s]", strings.Join(before, ","))
			}
			b.WriteString("}\n")
		}
	}
	return "nodes:\n" + b.String()
}

func BenchmarkParse(b *testing.B) {
	for _, f := range []planner.Format{planner.FormatYAML, planner.FormatJSON} {
		for _, n := range []int{50, 5000} {
			src := chain(n, f)
			b.Run(fmt.Sprintf("%s/%d", f, n), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					if d, ps := planner.Parse(src, planner.WithFormat(f)); d == nil {
						b.Fatal(ps)
					}
				}
			})
		}
	}
}
