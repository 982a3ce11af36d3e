package ui

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
)

// Display holds the display settings of a reader. They are stored in cookies, so that they apply
// before login, and the server renders them, so that pages do not flash. A login restores the last
// settings of the user in any browser.
type Display struct {
	Lang    *locale.Language
	Theme   string // "", "light", or "dark"
	Density string // "" or "compact"
	Times   string // "" (local), "utc", or "relative"
	// Inspector is the width of the column next to the steps of a run: "" (medium), "s", or "l".
	Inspector string
	// Shortcuts is "off" if single-key shortcuts are disabled (WCAG 2.1.4).
	Shortcuts string
	Zone      *time.Location
}

// choice is one display setting with its allowed values.
type choice struct {
	name, label string
	values      []string
	words       []string
}

var choices = []choice{
	{"lang", locale.Mark("Language"), []string{"en", "es"}, []string{"English", "Español"}},
	{
		"theme",
		locale.Mark("Theme"),
		[]string{"", "light", "dark"},
		[]string{locale.Mark("System's"), locale.Mark("Light"), locale.Mark("Dark")},
	},
	{"times", locale.Mark("Times"), []string{"", "utc", "relative"}, []string{locale.Mark("Local"), "UTC", locale.Mark("Relative")}},
	{"density", locale.Mark("Rows"), []string{"", "compact"}, []string{locale.Mark("Comfortable"), locale.Mark("Compact")}},
	{
		"inspector",
		locale.Mark("Inspector"),
		[]string{"s", "", "l"},
		[]string{locale.Mark("Narrow"), locale.Mark("Medium"), locale.Mark("Wide")},
	},
	{"shortcuts", locale.Mark("Shortcuts"), []string{"", "off"}, []string{locale.Mark("On"), locale.Mark("Off")}},
}

// readDisplay returns the settings in the cookies, and defaults based on the headers.
func readDisplay(e echo.Context, zone *time.Location) Display {
	cookie := func(name string) string {
		if c, err := e.Cookie(name); err == nil && len(c.Value) < 100 {
			return c.Value
		}
		return ""
	}
	allowed := func(name string) string {
		v := cookie(name)
		for _, c := range choices {
			if c.name == name && slices.Contains(c.values, v) {
				return v
			}
		}
		return ""
	}
	d := Display{
		Lang:      locale.Find(cookie("lang")),
		Theme:     allowed("theme"),
		Density:   allowed("density"),
		Times:     allowed("times"),
		Inspector: allowed("inspector"),
		Shortcuts: allowed("shortcuts"),
		Zone:      zone,
	}
	if d.Lang == nil {
		d.Lang = locale.Accepted(e.Request().Header.Get("Accept-Language"))
	}
	if name := cookie("zone"); name != "" && name != "Local" {
		if z, err := time.LoadLocation(name); err == nil {
			d.Zone = z
		}
	}
	if d.Times == "utc" {
		d.Zone = time.UTC
	}
	return d
}

// displayKey is the preference that stores the settings of a user. Its value is form-encoded.
const displayKey = "display"

// SetDisplay stores a setting in the browser and in the user's preferences, and redirects back to
// the page.
func (c *Context) SetDisplay() error {
	given := url.Values{}
	for _, x := range choices {
		if v, ok := c.Echo.Request().PostForm[x.name]; ok && len(v) > 0 && slices.Contains(x.values, v[0]) {
			given.Set(x.name, v[0])
		}
	}
	if v, ok := c.Echo.Request().PostForm["zone"]; ok && len(v) == 1 {
		name := strings.TrimSpace(v[0])
		if !knownZone(name) {
			return c.Echo.Redirect(http.StatusSeeOther, "/me?zone=unknown")
		}
		given.Set("zone", name)
	}
	setDisplayCookies(c, given)
	if err := keepDisplay(c, given); err != nil {
		return err
	}
	return c.Echo.Redirect(http.StatusSeeOther, link.Local(c.Echo.FormValue("back")))
}

func knownZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local" && len(name) <= 64
}

// setDisplayCookies sets the cookies that apply the settings to later requests.
func setDisplayCookies(c *Context, chosen url.Values) {
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		k := &http.Cookie{
			Name:     name,
			Value:    chosen.Get(name),
			Path:     "/",
			MaxAge:   365 * 24 * 3600,
			SameSite: http.SameSiteStrictMode,
			Secure:   c.Site.Secure(c.Echo.Request()),
		}
		if k.Value == "" {
			k.MaxAge = -1
		}
		c.Echo.SetCookie(k)
	}
}

// keepDisplay merges settings into the stored ones of the user. If the disk is full, only the
// cookies keep them.
func keepDisplay(c *Context, given url.Values) error {
	if c.Principal.Name == "" || len(given) == 0 {
		return nil
	}
	kept := keptDisplay(c, c.Principal)
	maps.Copy(kept, given)
	err := c.Site.App.Preferences.Set(c, app.Preference{Meta: c.Meta(), Key: displayKey, Value: kept.Encode()})
	if domain.CodeOf(err) == domain.CodeNoSpace {
		return nil
	}
	return err
}

// keptDisplay returns the stored settings of a user, without those that are no longer valid.
func keptDisplay(c *Context, who Principal) url.Values {
	text, err := c.Site.App.Preferences.Get(c, who.Actor(), displayKey)
	if err != nil {
		c.Site.Logger.Error("read how a person wants pages", "err", err) // not a reason to reject the login
	}
	out := url.Values{}
	kept, err := url.ParseQuery(text)
	if err != nil {
		return out
	}
	for _, c := range choices {
		if kept.Has(c.name) && slices.Contains(c.values, kept.Get(c.name)) {
			out.Set(c.name, kept.Get(c.name))
		}
	}
	if kept.Has("zone") && knownZone(kept.Get("zone")) {
		out.Set("zone", kept.Get("zone"))
	}
	return out
}

// RestoreDisplay applies the stored settings of a user at login. They override those of the
// browser.
func (c *Context) RestoreDisplay(u domain.User) {
	setDisplayCookies(c, keptDisplay(c, Principal{User: u}))
}

// ZoneSet returns the time zone that the reader chose, or "" for the time zone of the server.
func (c *Context) ZoneSet() string {
	if c, err := c.Echo.Cookie("zone"); err == nil && len(c.Value) <= 64 {
		if _, err := time.LoadLocation(c.Value); err == nil {
			return c.Value
		}
	}
	return ""
}

// displayChoices returns the settings with their current values selected.
func displayChoices(c *Context) []kit.Choice {
	now := map[string]string{
		"lang":      c.Display.Lang.Tag,
		"theme":     c.Display.Theme,
		"times":     c.Display.Times,
		"density":   c.Display.Density,
		"inspector": c.Display.Inspector,
		"shortcuts": c.Display.Shortcuts,
	}
	var out []kit.Choice
	for _, x := range choices {
		v := kit.Choice{Name: x.name, Label: c.T(x.label)}
		for i, value := range x.values {
			v.Options = append(v.Options, kit.Option{Value: value, Text: c.T(x.words[i]), Selected: value == now[x.name]})
		}
		out = append(out, v)
	}
	return out
}

// T translates a message into the reader's language.
func (c *Context) T(text string, args ...any) string { return c.Display.Lang.Text(text, args...) }

// N translates a message with a count of n, which selects the plural form.
func (c *Context) N(n int, one, other string, args ...any) string {
	return c.Display.Lang.Count(n, one, other, args...)
}

// Number formats a whole number in the reader's language.
func (c *Context) Number(n int64) string { return c.Display.Lang.Number(n) }

// Time formats a time in the reader's zone. A time before today includes the date. Pages show the
// UTC value next to it or as a title.
func (c *Context) Time(t time.Time) kit.Time {
	if t.IsZero() {
		return kit.Time{}
	}
	local, now := t.In(c.Display.Zone), c.Site.Now().In(c.Display.Zone)
	v := kit.Time{UTC: t.UTC().Format("2006-01-02T15:04:05.000Z"), Title: local.Format("2006-01-02 15:04:05.000 MST (UTC-07:00)")}
	switch {
	case c.Display.Times == "relative":
		v.Text = c.Ago(now.Sub(local))
	case now.Format(time.DateOnly) == local.Format(time.DateOnly):
		v.Text = local.Format("15:04:05")
	default:
		v.Text = local.Format("2006-01-02 15:04:05")
	}
	switch {
	case c.Display.Times == "utc":
		v.Text += "Z"
	case c.Display.Times != "relative" && repeated(local):
		v.Text += local.Format(" UTC-07:00")
	}
	return v
}

// repeated reports whether t is in an hour that occurs twice because daylight saving time ends.
func repeated(t time.Time) bool {
	_, here := t.Zone()
	for _, by := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, there := t.Add(by).Zone()
		if there == here {
			continue
		}
		twin := t.Add(time.Duration(here-there) * time.Second)
		if _, at := twin.Zone(); at == there {
			return true
		}
	}
	return false
}

// Ago formats a past duration as "… ago" and a negative one as "in …".
func (c *Context) Ago(d time.Duration) string {
	if d < 0 {
		return c.T("in %s", kit.ApproxDuration(-d))
	}
	return c.T("%s ago", kit.ApproxDuration(d))
}
