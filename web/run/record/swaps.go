package record

import "github.com/a-h/templ"

// SwapsPane is around links to other views and steps of the same run: htmx asks for the
// address of a link and puts the answer in place of the pane. A new choice ends the request
// of the one before. What follows events waits for it (hx-sync of the view).
func SwapsPane() templ.Attributes {
	return templ.Attributes{"hx-target": "#pane", "hx-swap": "morph:outerHTML", "hx-push-url": "true", "hx-sync": "main:replace"}
}
