package web_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// All users see the same eight entries in the navigation. Settings and the account are in a menu
// behind the initials, which has the user's name as its accessible name.
func TestTheNavigationHasEightWords(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "olga.torre", webtest.Password, domain.RoleViewer); err != nil {
		t.Fatal(err)
	}
	olga := site.Browser(t)
	if !olga.LoginAs("olga.torre", webtest.Password) {
		t.Fatal("user olga cannot log in")
	}
	part := func(body, begin string) string {
		t.Helper()
		_, rest, ok := strings.Cut(body, begin)
		if !ok {
			t.Fatalf("the page has no %s", begin)
		}
		nav, _, _ := strings.Cut(rest, "</nav>")
		return begin + nav
	}
	for _, who := range []struct {
		b             *webtest.Browser
		initials, own string
	}{{b, "MA marta", "marta You Settings Log out"}, {olga, "OT olga.torre", "olga.torre You Log out"}} {
		for page, current := range map[string]string{"/": "Home", "/runs": "Runs", "/audit": "Audit", "/me": ""} {
			body := who.b.Get(page).Body
			nav := part(body, `<nav class="nav"`)
			if got := webtest.Text(nav); got != "Home Runs Inbox Plans Agents Handoffs Audit System" {
				t.Errorf("%s: %s reads %q", page, who.initials, got)
			}
			at := ""
			if m := regexp.MustCompile(`(?s)aria-current="page">(.*?)</a>`).FindStringSubmatch(nav); m != nil {
				at = webtest.Text(m[1])
			}
			if at != current {
				t.Errorf("%s: %q is current", page, at)
			}
			own := part(body, `<details class="menu2 own"`)
			summary, list, _ := strings.Cut(own, "</summary>")
			if webtest.Text(summary) != who.initials || webtest.Text(list) != who.own {
				t.Errorf("%s: after %q, got %q", page, webtest.Text(summary), webtest.Text(list))
			}
		}
	}
	if own := part(b.Get("/settings/tokens").Body, `<details class="menu2 own"`); !strings.Contains(
		own,
		`href="/settings/users" aria-current="page"`,
	) {
		t.Error("the settings are not marked as current in the account menu")
	}
}
