package view

import (
	"strconv"

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

// outOfBand marks what comes along with another fragment.
func outOfBand(along bool) templ.Attributes {
	if along {
		return templ.Attributes{"hx-swap-oob": "true"}
	}
	return nil
}

func num(i int) string { return strconv.Itoa(i) }

// sorted marks the column that a table is sorted by.
func sorted(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-sort": "descending"}
	}
	return nil
}

// wrongField names a field, and says that what is in it does not fit, and where it
// is said why.
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

// truth is a yes or no as attributes want it.
func truth(b bool) string { return strconv.FormatBool(b) }

// following are the attributes by which a band of home keeps up to date.
func following(b Band) templ.Attributes {
	if b.Topic == "" {
		return nil
	}
	return templ.Attributes{"data-live": b.Topic, "data-every": b.Every, "hx-get": "/?v=" + b.Version, "hx-trigger": "k:" + b.Topic + " from:body", "hx-swap": "morph:outerHTML"}
}

// liveLog makes the log of a running attempt fetch itself again.
func liveLog(l StepLog) templ.Attributes {
	if l.Topic == "" {
		return nil
	}
	return templ.Attributes{"data-live": l.Topic, "data-here": true, "hx-get": l.Refresh, "hx-trigger": "k:" + l.Topic + " from:body", "hx-swap": "morph:outerHTML"}
}

// checks makes a field of a preview ask anew what would happen when it changes.
func checks(address string) templ.Attributes {
	return templ.Attributes{"hx-post": address, "hx-trigger": "change", "hx-target": "#check", "hx-select": "#check", "hx-swap": "outerHTML", "hx-include": "closest form", "hx-vals": `{"do":"check"}`, "hx-sync": "closest form:replace"}
}

// draftLive makes the progress of a draft fetch itself again while it is planned.
func draftLive(p DraftPage) templ.Attributes {
	if !p.Planning {
		return nil
	}
	return templ.Attributes{"data-live": "draft-" + p.ID, "hx-get": "/plans/drafts/" + p.ID, "hx-trigger": "k:draft-" + p.ID + " from:body", "hx-swap": "morph:outerHTML"}
}

// chosenStep marks the row that the picture leads to: the one with the reason.
func chosenStep(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"id": "why", "aria-current": "true"}
	}
	return nil
}

// lineOf marks a box that leads to a line of the text beside it.
func lineOf(n GraphNode) templ.Attributes {
	if n.Line == 0 {
		return nil
	}
	return templ.Attributes{"data-line": num(n.Line)}
}

// acceptAt is where the plan of a draft is accepted.
func acceptAt(p DraftPage) string {
	if p.Draft {
		return "/plans/drafts/" + p.ID + "/accept"
	}
	return p.Post
}

func ms(at int64) string { return strconv.FormatInt(at, 10) }

// classed gives an element a class, or none at all.
func classed(class string, is bool) templ.Attributes {
	if is {
		return templ.Attributes{"class": class}
	}
	return nil
}
