package view

import (
	"strconv"

	"github.com/a-h/templ"
)

func num(i int) string { return strconv.Itoa(i) }

// truth is a yes or no as attributes want it.
func truth(b bool) string { return strconv.FormatBool(b) }

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

func ms(at int64) string { return strconv.FormatInt(at, 10) }
