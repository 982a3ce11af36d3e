package view

import (
	"net/url"

	"github.com/a-h/templ"
)

// currentPage marks a link to the page one is on.
func currentPage(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// current marks a chosen item that is not a page of its own.
func current(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}

// urlQuery escapes a text for a query string.
func urlQuery(s string) string { return url.QueryEscape(s) }
