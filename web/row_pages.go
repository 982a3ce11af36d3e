package web

import (
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// rowPage cuts one page out of a table of many rows: the one that the address
// names by its first row (rows=301), or else the one that a row is on. href is
// this page with other settings.
func (r *request) rowPage(total, size, row int, href func(url.Values) string) (from, to int, p view.RowPages) {
	return r.cutPage("rows", locale.Mark("Rows %s to %s of %s"), total, size, row, href)
}

// cutPage is rowPage with the name of the address's parameter, and the words for what
// is shown.
func (r *request) cutPage(key, shown string, total, size, row int, href func(url.Values) string) (from, to int, p view.RowPages) {
	last := max(total-1, 0) / size
	at := max(row, 0) / size
	if n, err := strconv.Atoi(r.c.QueryParam(key)); err == nil && n > 0 {
		at = (n - 1) / size
	}
	at = min(at, last)
	from, to = at*size, min((at+1)*size, total)
	if last == 0 {
		return from, to, p
	}
	p.Shown = r.t(shown, r.number(int64(from+1)), r.number(int64(to)), r.number(int64(total)))
	link := func(text string, page int) {
		p.Links = append(p.Links, view.Link{Text: text, Href: href(url.Values{key: {strconv.Itoa(page*size + 1)}})})
	}
	if at > 0 {
		link(r.t("First"), 0)
		link(r.t("Previous"), at-1)
	}
	if at < last {
		link(r.t("Next"), at+1)
		link(r.t("Last"), last)
	}
	return from, to, p
}
