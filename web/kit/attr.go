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

// Dialog makes htmx put the answer to a link or a form into the dialog of the page. Without scripts it is a page
// of its own.
func Dialog(href string) templ.Attributes {
	return templ.Attributes{"hx-get": href, "hx-target": "#dialog", "hx-swap": "innerHTML", "hx-push-url": "false"}
}

// PostTo makes a form send to an address. A form in the dialog is answered there, unless the answer leads on. Sent
// again before that, it still acts once, by its key.
func (s Shell) PostTo(address string) templ.Attributes {
	out := templ.Attributes{"method": "post", "action": address}
	if s.Dialog {
		out["hx-post"], out["hx-target"], out["hx-sync"] = address, "#dialog", "this:replace"
	}
	return out
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

// HTMX makes a link that swaps, or opens in the dialog, a request of htmx.
func (l Link) HTMX() templ.Attributes {
	switch {
	case l.Dialog:
		return Dialog(l.Href)
	case l.Swaps:
		return Get(l.Href)
	}
	return nil
}
