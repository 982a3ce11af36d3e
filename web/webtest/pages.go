package webtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Packed returns the size of a text after compression with gzip, in bytes.
func Packed(t testing.TB, s string) int {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// ChainPlan returns a plan with a chain of n steps.
func ChainPlan(id string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\nlimits: {max_steps: 2000}\nnodes:\n", id)
	for i := range n {
		fmt.Fprintf(&b, "  step_%d: {type: set, input: {value: %d}}\n", i, i)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - {from: step_%d, to: step_%d}\n", i, i+1)
	}
	return b.String()
}

// Attributes returns the attributes of an element by name.
func Attributes(n *html.Node) map[string]string {
	out := map[string]string{}
	for _, a := range n.Attr {
		out[a.Key] = a.Val
	}
	return out
}
