package run_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/web/webtest"
)

// buttons returns the texts of the buttons and links below the element with a class, and separately
// those in the menu.
func buttons(t *testing.T, page, class string) (shown, menu []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" && n.Data != "button" {
			continue
		}
		var text strings.Builder
		for c := range n.Descendants() {
			if c.Type == html.TextNode {
				text.WriteString(c.Data)
			}
		}
		if text.Len() == 0 { // the label of an icon is its name
			text.WriteString(webtest.Attributes(n)["aria-label"])
		}
		in, folded := false, false
		for p := n.Parent; p != nil; p = p.Parent {
			at := webtest.Attributes(p)
			_, popover := at["popover"]
			folded = folded || popover
			in = in || at["class"] == class
		}
		switch {
		case folded:
			menu = append(menu, text.String())
		case in:
			shown = append(shown, text.String())
		}
	}
	return shown, menu
}

// The page of a failed run shows the most likely actions. All others are in a menu, which works
// without scripts.
func TestAFailedRunOffersThreeActionsAndAMenu(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	page := b.Get("/runs/" + seed.Failed.ID)
	if page.Code != http.StatusOK {
		t.Fatal(page.Code)
	}
	shown, menu := buttons(t, page.Body, "act")
	if want := []string{"Resume from post", "Other ways to resume", "Fork…", "Rerun…", "More actions"}; !slices.Equal(shown, want) {
		t.Errorf("offered: %q, want %q", shown, want)
	}
	for _, want := range []string{"Acknowledge…", "Delete…", "Copy a summary"} {
		if !slices.Contains(menu, want) {
			t.Errorf("the menu has no %s: %q", want, menu)
		}
	}
	if !strings.Contains(page.Body, `popovertarget="more"`) || !strings.Contains(page.Body, `id="more"`) {
		t.Error("nothing opens the menu")
	}
}

// A time is shown once, with the exact time in its tooltip.
func TestATimeIsShownOnce(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	shown := regexp.MustCompile(`<time datetime="([^"]+)" title="[^"]+">`)
	for path, least := range map[string]int{"/runs/" + seed.Failed.ID: 1, "/runs/" + seed.Waiting.ID: 1, "/approvals": 1} {
		body := b.Get(path).Body
		times := shown.FindAllStringSubmatch(body, -1)
		if len(times) < least {
			t.Errorf("%s shows no time", path)
		}
		for _, m := range times {
			if regexp.MustCompile(`>[^<]*` + regexp.QuoteMeta(m[1])).MatchString(strings.ReplaceAll(body, summaryIn(body), "")) {
				t.Errorf("%s: %s is shown a second time, in UTC", path, m[1])
			}
		}
		if strings.Contains(body, "less than a minute ago") {
			t.Errorf("%s says how long ago it was, too", path)
		}
	}
}

// summaryIn returns the hidden text that the button copies.
func summaryIn(page string) string {
	return regexp.MustCompile(`(?s)<span id="summary" hidden>.*?</span>|$`).FindString(page)
}
