package web_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/web/live"
	"github.com/kairosd/kairosd/web/ui"
	"github.com/kairosd/kairosd/web/webtest"
)

// Each live region names existing topics, and a section registers it for its page. Otherwise it
// would never be refreshed, or every refresh would render the whole page.
func TestLivePartsAreFragments(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Furnish(t, site.Seed(t))
	b, routes, fragments := site.Browser(t).Login(), site.Routes(), site.Fragments()
	for _, f := range fragments {
		for _, topic := range f.Topics {
			if !live.IsTopic(strings.ReplaceAll(topic, ":", "")) {
				t.Errorf("fragment %s of %s has the topic %q, which is never published", f.ID, f.Page, topic)
			}
		}
	}
	seen := map[string]bool{}
	for _, path := range seed.Paths() {
		doc, err := html.Parse(strings.NewReader(b.Get(path).Body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			at := webtest.Attributes(n)
			topics, is := at["data-live"]
			if !is {
				continue
			}
			for topic := range strings.FieldsSeq(topics) {
				if !live.IsTopic(topic) {
					t.Errorf("%s: #%s follows the topic %q, which is never published", path, at["id"], topic)
				}
			}
			page := patternOf(routes, at["hx-get"])
			i := slices.IndexFunc(fragments, func(f ui.Fragment) bool { return f.Page == page && f.ID == at["id"] })
			if i < 0 {
				t.Errorf("%s: #%s follows events, and no section registered it for %q", path, at["id"], page)
				continue
			}
			for topic := range strings.FieldsSeq(topics) {
				if !slices.ContainsFunc(fragments[i].Topics, func(f string) bool { return topicMatches(f, topic) }) {
					t.Errorf("%s: #%s follows %q, and is registered for %q", path, at["id"], topic, fragments[i].Topics)
				}
			}
			seen[fragments[i].Page+" "+at["id"]] = true
		}
	}
	for _, want := range []string{"/ attention", "/ approvals", "/runs/changes pill", "/runs/:run head", "/runs/:run view",
		"/agents/tools catalog", "/agents/tools/:tool circuits", "/approvals list", "/approvals/:approval list", "/schedules schedules",
		"/schedules/:schedule schedule", "/events/hooks hooks", "/events/hooks/:hook hook", "/events/hooks/:hook hook-deliveries",
		"/events/signals signals", "/events/signals/:signal signal", "/events/waits waits"} {
		if !seen[want] {
			t.Errorf("no page shows the fragment %s", want)
		}
	}
}

// topicMatches reports whether topic matches the topic of a fragment, in which a parameter such as :run
// matches any value.
func topicMatches(named, topic string) bool {
	prefix, _, any := strings.Cut(named, ":")
	return topic == named || any && strings.HasPrefix(topic, prefix)
}

// The addresses in a fragment are those of its page, because a fragment has no address of its own.
func TestFragmentsHaveNoAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Failed.ID
	b := site.Browser(t).Login()
	whole := b.Get("/runs/" + run + "?" + url.Values{"view": {"graph"}}.Encode())
	part := b.Do(
		webtest.Request(
			t,
			"GET",
			site.URL+"/runs/"+run+"?view=graph",
			"",
			"HX-Request",
			"true",
			"HX-Target",
			"view",
			"Sec-Fetch-Site",
			"same-origin",
		),
	)
	if !strings.Contains(whole.Body, "<main") || strings.Contains(part.Body, "<main") || !strings.Contains(part.Body, `id="view"`) {
		t.Errorf("the page has %d bytes, its fragment %d", len(whole.Body), len(part.Body))
	}
	if part.Header.Get("HX-Push-Url") != "" {
		t.Error("refreshing a fragment changes the browser history")
	}
}
