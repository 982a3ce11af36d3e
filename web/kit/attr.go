package kit

import (
	"strings"

	"github.com/a-h/templ"
)

// AriaCurrentPage returns aria-current for a link to the page that is shown.
func AriaCurrentPage(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// AriaCurrent returns aria-current for the selected item of a list that does not navigate between
// pages.
func AriaCurrent(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}

// OutOfBand returns the attribute that makes htmx swap an element of a response that has another
// target.
func OutOfBand(along bool) templ.Attributes {
	if along {
		return templ.Attributes{"hx-swap-oob": "true"}
	}
	return nil
}

// MorphOutOfBand is like [OutOfBand], but morphs the element, which keeps its focus and scroll position.
func MorphOutOfBand(along bool) templ.Attributes {
	if along {
		return templ.Attributes{"hx-swap-oob": "morph"}
	}
	return nil
}

// HXGet turns a link into an htmx request for the same address, without the part after #. The target
// is inherited from a surrounding element.
func HXGet(href string) templ.Attributes {
	if href == "" {
		return nil
	}
	address, _, _ := strings.Cut(href, "#")
	return templ.Attributes{"hx-get": address}
}

// HXDialog makes htmx show the response to a link or a form in the dialog of the page. Without
// scripts, the address opens as a page.
func HXDialog(href string) templ.Attributes {
	return templ.Attributes{"hx-get": href, "hx-target": "#dialog", "hx-swap": "innerHTML", "hx-push-url": "false"}
}

// PostTo returns the attributes of a form that posts to address. In a dialog, the response replaces
// the content of the dialog, unless it redirects. Submitting the form again is safe because of its
// idempotency key.
func (s Shell) PostTo(address string) templ.Attributes {
	out := templ.Attributes{"method": "post", "action": address}
	if s.Dialog {
		out["hx-post"], out["hx-target"], out["hx-sync"] = address, "#dialog", "this:replace"
	}
	return out
}

// AriaSort returns aria-sort for the column that a table is sorted by. Sorting is always descending.
func AriaSort(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-sort": "descending"}
	}
	return nil
}

// fieldAttributes returns the id of a field and, for an invalid field, the reference to its error
// message.
func fieldAttributes(f Field) templ.Attributes {
	out := templ.Attributes{}
	if f.ID != "" {
		out["id"] = f.ID
	}
	if f.Error != "" {
		out["aria-invalid"], out["aria-describedby"] = "true", f.ID+"-why"
	}
	return out
}

// ClassIf returns the class attribute if is is true, and nil otherwise.
func ClassIf(class string, is bool) templ.Attributes {
	if is {
		return templ.Attributes{"class": class}
	}
	return nil
}

// HTMX returns the htmx attributes of a link that opens in the dialog or swaps a part of the page.
func (l Link) HTMX() templ.Attributes {
	switch {
	case l.Dialog:
		return HXDialog(l.Href)
	case l.Swaps:
		return HXGet(l.Href)
	}
	return nil
}
