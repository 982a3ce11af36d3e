package view

import "github.com/a-h/templ"

// StartingPage is shown at every address while the daemon starts.
type StartingPage struct {
	Shell
	Stage string // how far it is
	Done  string // the share that is done, "40%"; empty: unknown
	For   string // how long it has been at it
	Sent  bool   // something was sent, and not done
}

// startingAgain makes the part refresh itself; when the dashboard is ready, its response reloads the whole
// page instead.
func startingAgain(p StartingPage) templ.Attributes {
	if p.Sent {
		return nil
	}
	return templ.Attributes{"hx-get": p.Here, "hx-trigger": "every 1s", "hx-swap": "outerHTML", "hx-target": "this"}
}
