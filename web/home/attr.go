package home

import "github.com/a-h/templ"

// following are the attributes by which a band of home keeps up to date.
func following(b Band) templ.Attributes {
	if b.Topic == "" {
		return nil
	}
	return templ.Attributes{
		"data-live":  b.Topic,
		"data-every": b.Every,
		"hx-get":     "/?v=" + b.Version,
		"hx-trigger": "k:" + b.Topic + " from:body",
		"hx-swap":    "morph:outerHTML",
	}
}

// Card reports whether a section of home is a card of its own.
func (b Band) Card() bool { return b.ID != "situation" && b.ID != "since" && b.ID != "figures" }

// Word is the state of a request in words.
func (r Request) Word() string {
	if r.Role == "doubt" {
		return "In doubt"
	}
	return "Waiting for approval"
}
