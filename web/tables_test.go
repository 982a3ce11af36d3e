package web_test

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/web/webtest"
)

// Every row of every table has as many cells as the table has columns. Otherwise, values would be
// in the wrong columns.
func TestEveryCellStandsUnderItsHead(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Furnish(t, site.Seed(t))
	b := site.Browser(t).Login()
	tables := 0
	for _, path := range seed.Paths() {
		doc, err := html.Parse(strings.NewReader(b.Get(path).Body))
		if err != nil {
			t.Fatal(err)
		}
		for table := range doc.Descendants() {
			if table.Type != html.ElementNode || table.Data != "table" {
				continue
			}
			tables++
			want, at := -1, 0
			for row := range table.Descendants() {
				if row.Type != html.ElementNode || row.Data != "tr" {
					continue
				}
				at++
				n := columnCount(row)
				if want < 0 {
					want = n
				}
				if n != want {
					t.Errorf("%s: row %d has %d cells, the first has %d: %s", path, at, n, want, webtest.Text(inner(row)))
					break
				}
			}
		}
	}
	if tables < 50 {
		t.Errorf("found only %d tables", tables)
	}
}

// columnCount returns the number of columns that a row spans.
func columnCount(row *html.Node) (n int) {
	for c := range row.ChildNodes() {
		if c.Type != html.ElementNode || c.Data != "td" && c.Data != "th" {
			continue
		}
		span := 1
		for _, a := range c.Attr {
			if v, err := strconv.Atoi(a.Val); err == nil && a.Key == "colspan" {
				span = v
			}
		}
		n += span
	}
	return n
}

func inner(n *html.Node) string {
	var b strings.Builder
	if err := html.Render(&b, n); err != nil {
		return err.Error()
	}
	return b.String()
}
