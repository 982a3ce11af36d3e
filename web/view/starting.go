package view

import "github.com/a-h/templ"

// StartingPage is shown at every address during startup.
type StartingPage struct {
	Shell
	Stage string // current stage of the startup
	Done  string // progress, such as "40%"; empty if unknown
	For   string // elapsed time
	Sent  bool   // the request was a POST, which was not processed
}

// startingAgain makes the fragment poll every second. When the dashboard is ready, its response
// reloads the page. A POST cannot be repeated, so its page does not poll.
func startingAgain(p StartingPage) templ.Attributes {
	if p.Sent {
		return nil
	}
	return templ.Attributes{"hx-get": p.Address, "hx-trigger": "every 1s", "hx-swap": "outerHTML", "hx-target": "this"}
}
