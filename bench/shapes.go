package main

import (
	"fmt"
	"strings"
)

// result is the output of every step in every system: about 100 bytes of JSON.
type result struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Value int    `json:"value"`
	OK    bool   `json:"ok"`
}

func resultOf(i int) result {
	return result{ID: i, Name: "a result of about one hundred bytes of JSON, as a step gives it", Value: 42, OK: true}
}

// shape describes the work of a workload.
type shape struct {
	name string
	runs int
	// steps per run, one after the other. If fan is set, they run in parallel, and one more step
	// joins them.
	steps int
	fan   bool
	// loop makes a run of kairosd use a loop of ten nodes, because a document has at most 5,000.
	loop bool
	// pure means that steps have no side effects. A system that distinguishes such steps may use
	// that. The others run the same steps as always.
	pure bool
}

func (s shape) total() int {
	if s.fan {
		return s.runs * (s.steps + 1)
	}
	return s.runs * s.steps
}

// shapes are the workloads that one process can measure. The tiny forms check that everything
// works.
func shapes(tiny bool) map[string]shape {
	n := func(full, small int) int {
		if tiny {
			return small
		}
		return full
	}
	list := []shape{
		{name: "W1", runs: 1, steps: n(1000, 20)},
		{name: "W1p", runs: 1, steps: n(1000, 20), pure: true},
		{name: "W2", runs: n(500, 10), steps: n(100, 5), pure: true},
		{name: "W2s", runs: n(500, 10), steps: n(10, 3), pure: true},
		{name: "W2e", runs: n(500, 10), steps: n(10, 3)},
		{name: "W3", runs: 1, steps: n(10000, 50), pure: true, loop: true},
		{name: "W3s", runs: 1, steps: n(1000, 20), pure: true, loop: true},
		{name: "W4", runs: 1, steps: n(100, 10), fan: true},
	}
	m := make(map[string]shape, len(list))
	for _, s := range list {
		m[s.name] = s
	}
	return m
}

// plan returns the shape as a plan of kairosd. Steps with side effects need a row before and after;
// "set" is the built-in pure node.
func (s shape) plan() string {
	typ := "call"
	if s.pure {
		typ = "set"
	}
	node := func(b *strings.Builder, name string, i int) {
		fmt.Fprintf(
			b,
			"  %s: {type: %s, input: {id: %d, name: \"a result of about one hundred bytes of JSON, as a step gives it\", "+
				"value: \"${input.x}\", ok: true}}\n",
			name,
			typ,
			i,
		)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "id: bench-%s\nnodes:\n", strings.ToLower(s.name))
	switch {
	case s.fan:
		names := make([]string, s.steps)
		for i := range names {
			names[i] = fmt.Sprintf("n%d", i)
			node(&b, names[i], i)
		}
		fmt.Fprintf(&b, "  join: {type: set, needs: [%s]}\n", strings.Join(names, ", "))
	case s.loop:
		fmt.Fprintf(&b, "  tick: {type: tick, max_visits: %d}\n", s.steps)
		for i := 1; i < 10; i++ {
			fmt.Fprintf(
				&b,
				"  n%d: {type: set, max_visits: %d, input: {id: %d, name: \"a result of about one hundred bytes of JSON, as "+
					"a step gives it\", value: \"${input.x}\", ok: true}}\n",
				i,
				s.steps,
				i,
			)
		}
		b.WriteString("strict: false\nstart: tick\nedges:\n  - {from: tick, to: n1}\n")
		for i := 1; i < 9; i++ {
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
		}
		fmt.Fprintf(&b, "  - {from: n9, to: tick, condition: output.tick.visit != %d}\n", s.steps/10)
	default:
		for i := range s.steps {
			node(&b, fmt.Sprintf("n%d", i), i)
		}
		b.WriteString("edges:\n")
		for i := range s.steps - 1 {
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
		}
	}
	return b.String()
}
