package ui

import (
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// RowPage selects one page of a table of total rows. The address names the page by its first row
// (rows=301). Without that parameter, it is the page that contains row. href returns the address of
// this page with other parameters.
func RowPage(c *Context, total, size, row int, href func(url.Values) string) (from, to int, p kit.RowPages) {
	return CutPage(c, "rows", locale.Mark("Rows %s to %s of %s"), total, size, row, href)
}

// CutPage is like [RowPage], with the name of the query parameter and the message for the displayed
// range.
func CutPage(c *Context, key, shown string, total, size, row int, href func(url.Values) string) (from, to int, p kit.RowPages) {
	last := max(total-1, 0) / size
	at := max(row, 0) / size
	if n, err := strconv.Atoi(c.Query(key)); err == nil && n > 0 {
		at = (n - 1) / size
	}
	at = min(at, last)
	from, to = at*size, min((at+1)*size, total)
	if last == 0 {
		return from, to, p
	}
	p.Shown = c.T(shown, c.Number(int64(from+1)), c.Number(int64(to)), c.Number(int64(total)))
	link := func(text string, page int) {
		p.Links = append(p.Links, kit.Link{Text: text, Href: href(url.Values{key: {strconv.Itoa(page*size + 1)}})})
	}
	if at > 0 {
		link(c.T("First"), 0)
		link(c.T("Previous"), at-1)
	}
	if at < last {
		link(c.T("Next"), at+1)
		link(c.T("Last"), last)
	}
	return from, to, p
}
