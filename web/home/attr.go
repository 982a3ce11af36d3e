package home

import "github.com/a-h/templ"

// following returns the attributes by which a section is refreshed on events of its topic.
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

// labelled returns the attribute that labels a section by its heading. An empty section has no
// heading.
func labelled(b HomeSection) templ.Attributes {
	if b.Empty() {
		return nil
	}
	return templ.Attributes{"aria-labelledby": "b-" + b.ID}
}

// Empty reports whether a section has no content now. It stays on the page to follow its topic.
func (b HomeSection) Empty() bool {
	content, ok := b.Content.(written)
	return ok && len(content) == 0 && b.Failed == ""
}

// Card reports whether a section is drawn as a card.
func (b HomeSection) Card() bool {
	return !b.Empty() && b.ID != "situation" && b.ID != "since" && b.ID != "figures"
}

// role returns the color role of a change for the better or the worse.
func (f Figure) role() string {
	switch {
	case f.Bad:
		return "fail"
	case f.Good:
		return "ok"
	}
	return ""
}
