package record

import "github.com/a-h/templ"

// SwapsPane returns htmx attributes for an element with links to other views and steps of the same
// run. The response to a link replaces the pane. A new click cancels the previous request. Live
// updates wait for it, because the view uses the same hx-sync element.
func SwapsPane() templ.Attributes {
	return templ.Attributes{"hx-target": "#pane", "hx-swap": "morph:outerHTML", "hx-push-url": "true", "hx-sync": "main:replace"}
}
