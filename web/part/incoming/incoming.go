// Package incoming holds the addresses of hooks, deliveries, and signals, and the tabs of plans and
// of what starts or wakes their runs.
package incoming

import (
	"net/url"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Addresses of the lists.
const (
	Plans     = "/plans"
	Schedules = "/schedules"
	Hooks     = "/events/hooks"
	Signals   = "/events/signals"
	Waits     = "/events/waits"
)

// Hook returns the address of the page of a hook.
func Hook(key string) string { return Hooks + "/" + url.PathEscape(key) }

// Delivery returns the address of the page of a delivery to a hook.
func Delivery(id string) string { return "/events/deliveries/" + url.PathEscape(id) }

// Signal returns the address of the page of a signal.
func Signal(id string) string { return Signals + "/" + url.PathEscape(id) }

// Send returns the address of the form that sends a signal with a name and a key.
func Send(name, key string) string {
	q := url.Values{"name": {name}}
	if key != "" {
		q.Set("key", key)
	}
	return Signals + "/new?" + q.Encode()
}

// Tabs returns the tabs of the lists. current is the address of one of them.
func Tabs(c *ui.Context, current string) []kit.Link {
	return []kit.Link{
		{Text: c.T("Plans"), Href: Plans, Current: current == Plans},
		{Text: c.T("Schedules"), Href: Schedules, Current: current == Schedules},
		{Text: c.T("Hooks"), Href: Hooks, Current: current == Hooks},
		{Text: c.T("Signals"), Href: Signals, Current: current == Signals},
		{Text: c.T("Waiting steps"), Href: Waits, Current: current == Waits},
	}
}
