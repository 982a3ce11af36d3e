package kit

import (
	"strings"

	"github.com/a-h/templ"
)

// CurrentPage marks a link to the page one is on.
func CurrentPage(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// Current marks a chosen item that is not a page of its own.
func Current(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}

// OutOfBand marks what comes along with another fragment.
func OutOfBand(along bool) templ.Attributes {
	if along {
		return templ.Attributes{"hx-swap-oob": "true"}
	}
	return nil
}

// Along marks what comes along with another fragment and keeps what is held in it: the
// focus, and how far it is scrolled.
func Along(along bool) templ.Attributes {
	if along {
		return templ.Attributes{"hx-swap-oob": "morph"}
	}
	return nil
}

// Get makes a link an htmx request for the same address, without the fragment. An element around it decides
// what the answer replaces.
func Get(href string) templ.Attributes {
	if href == "" {
		return nil
	}
	address, _, _ := strings.Cut(href, "#")
	return templ.Attributes{"hx-get": address}
}

// Sorted marks the column that a table is sorted by.
func Sorted(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-sort": "descending"}
	}
	return nil
}

// wrongField names a field and marks it as invalid, with a reference to the message.
func wrongField(f Field) templ.Attributes {
	out := templ.Attributes{}
	if f.ID != "" {
		out["id"] = f.ID
	}
	if f.Wrong != "" {
		out["aria-invalid"], out["aria-describedby"] = "true", f.ID+"-why"
	}
	return out
}

// Classed gives an element a class, or none at all.
func Classed(class string, is bool) templ.Attributes {
	if is {
		return templ.Attributes{"class": class}
	}
	return nil
}

// get makes a link that swaps a request of htmx.
func (l Link) get() templ.Attributes {
	if !l.Swaps {
		return nil
	}
	return Get(l.Href)
}
