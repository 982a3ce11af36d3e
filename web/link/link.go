// Package link builds the addresses of pages.
package link

import (
	"net/url"
	"strings"
)

// List returns the address of a list with a query.
func List(path, q string) string {
	if q == "" && path != "/runs" && path != "/audit" { // without a query, these show a default view
		return path
	}
	return path + "?q=" + url.QueryEscape(q)
}

// With returns an address with the parameters keep, changed by pairs of a name and a value. An
// empty value removes the parameter.
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

// Local returns next if it is an address of this site, and "/" otherwise.
func Local(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") {
		return "/"
	}
	return next
}

// Plan returns the address of a plan.
func Plan(key string) string { return "/plans/" + url.PathEscape(key) }

// Agent returns the address of an agent.
func Agent(id string) string { return "/agents/agents/" + url.PathEscape(id) }

// Provider returns the address of a model provider.
func Provider(name string) string { return "/agents/providers/" + url.PathEscape(name) }

// Tool returns the address of a tool.
func Tool(name string) string { return "/agents/tools/" + url.PathEscape(name) }

// Memory returns the address of a page about the memory of an owner's session. The owner is omitted
// if it is the reader.
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

// Steps returns the address of the step search. An empty sort lists the newest runs first.
func Steps(q, sort string) string {
	v := url.Values{"q": {q}}
	if sort != "" {
		v.Set("sort", sort)
	}
	return "/steps?" + v.Encode()
}
