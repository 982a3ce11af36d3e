package home

import "github.com/a-h/templ"

// following are the attributes by which a section of home keeps up to date.
func following(b HomeSection) templ.Attributes {
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

// labelled names a section of home by its heading, unless it shows nothing now.
func labelled(b HomeSection) templ.Attributes {
	if b.Empty() {
		return nil
	}
	return templ.Attributes{"aria-labelledby": "b-" + b.ID}
}

// Empty reports that a section shows nothing now. It stays on the page to follow its topic.
func (b HomeSection) Empty() bool {
	content, ok := b.Content.(written)
	return ok && len(content) == 0 && b.Failed == ""
}

// Card reports whether a section of home is a card of its own.
func (b HomeSection) Card() bool {
	return !b.Empty() && b.ID != "situation" && b.ID != "since" && b.ID != "figures"
}

// role is that of a figure that changed for the better or the worse.
func (f Figure) role() string {
	switch {
	case f.Bad:
		return "fail"
	case f.Good:
		return "ok"
	}
	return ""
}
