// Package link holds the addresses of pages.
package link

import (
	"net/url"
	"strings"
)

// List is the address of a list with a query.
func List(path, q string) string {
	if q == "" && path != "/runs" && path != "/audit" { // without a query, these show a default view
		return path
	}
	return path + "?q=" + url.QueryEscape(q)
}

// With is an address with parameters: those kept, each of change (name, value) set, or
// removed if its value is empty.
func With(path string, keep url.Values, change ...string) string {
	v := url.Values{}
	for k, x := range keep {
		v[k] = x
	}
	for i := 0; i+1 < len(change); i += 2 {
		if v.Del(change[i]); change[i+1] != "" {
			v.Set(change[i], change[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// Local is an address if it is one of this site, else home.
func Local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") {
		return "/"
	}
	return next
}

// Plan is the page of a plan.
func Plan(key string) string { return "/plans/" + url.PathEscape(key) }

// Agent is the page of an agent.
func Agent(id string) string { return "/agents/agents/" + url.PathEscape(id) }

// Provider is the page of a provider of models.
func Provider(name string) string { return "/agents/providers/" + url.PathEscape(name) }

// Tool is the page of a tool.
func Tool(name string) string { return "/agents/tools/" + url.PathEscape(name) }

// Memory is the address of a page about what a session of an owner remembers; reader is
// who reads it.
func Memory(reader, path, owner, session, after string) string {
	q := url.Values{}
	if owner != reader {
		q.Set("owner", owner)
	}
	if session != "" {
		q.Set("session", session)
	}
	if after != "" {
		q.Set("after", after)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Steps is the search of steps with a query, sorted so; "": newest runs first.
func Steps(q, sort string) string {
	v := url.Values{"q": {q}}
	if sort != "" {
		v.Set("sort", sort)
	}
	return "/steps?" + v.Encode()
}
