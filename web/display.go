package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// display is how a person wants pages: in cookies, so that it also holds before the
// login, and rendered by the server, so that nothing flashes. Every login begins with
// what the person chose last, on whatever browser.
type display struct {
	lang    *locale.Language
	theme   string // "", light, dark
	density string // "", compact
	times   string // "" local, utc, relative
	// inspector is how wide the column beside a run's steps is: "" medium, s, l.
	inspector string
	// shortcuts is "off" for those who want no single keys (WCAG 2.1.4).
	shortcuts string
	zone      *time.Location
}

// choice is one setting of the display and the values it may have.
type choice struct {
	name, label string
	values      []string
	words       []string
}

var choices = []choice{
	{"lang", locale.Mark("Language"), []string{"en", "es"}, []string{"English", "Español"}},
	{"theme", locale.Mark("Theme"), []string{"", "light", "dark"}, []string{locale.Mark("System's"), locale.Mark("Light"), locale.Mark("Dark")}},
	{"times", locale.Mark("Times"), []string{"", "utc", "relative"}, []string{locale.Mark("Local"), "UTC", locale.Mark("Relative")}},
	{"density", locale.Mark("Rows"), []string{"", "compact"}, []string{locale.Mark("Comfortable"), locale.Mark("Compact")}},
	{"inspector", locale.Mark("Inspector"), []string{"s", "", "l"}, []string{locale.Mark("Narrow"), locale.Mark("Medium"), locale.Mark("Wide")}},
	{"shortcuts", locale.Mark("Shortcuts"), []string{"", "off"}, []string{locale.Mark("On"), locale.Mark("Off")}},
}

// readDisplay takes the reader's choices from cookies and headers.
func (r *request) readDisplay() display {
	cookie := func(name string) string {
		if c, err := r.c.Cookie(name); err == nil && len(c.Value) < 100 {
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
	d := display{lang: locale.Find(cookie("lang")), theme: allowed("theme"), density: allowed("density"), times: allowed("times"), inspector: allowed("inspector"), shortcuts: allowed("shortcuts"), zone: r.s.Zone}
	if d.lang == nil {
		d.lang = locale.Accepted(r.c.Request().Header.Get("Accept-Language"))
	}
	if name := cookie("zone"); name != "" && name != "Local" {
		if z, err := time.LoadLocation(name); err == nil {
			d.zone = z
		}
	}
	if d.times == "utc" {
		d.zone = time.UTC
	}
	return d
}

// displayKey is the preference that keeps a person's choices for their next login,
// as a form does.
const displayKey = "display"

// setDisplay keeps a choice, in the browser and for the person's other ones, and goes
// back to the page it was made on.
func (r *request) setDisplay() error {
	given := url.Values{}
	for _, c := range choices {
		if v, ok := r.c.Request().PostForm[c.name]; ok && len(v) > 0 && slices.Contains(c.values, v[0]) {
			given.Set(c.name, v[0])
		}
	}
	if v, ok := r.c.Request().PostForm["zone"]; ok && len(v) == 1 {
		name := strings.TrimSpace(v[0])
		if !knownZone(name) {
			return r.c.Redirect(http.StatusSeeOther, "/me?zone=unknown")
		}
		given.Set("zone", name)
	}
	r.showBy(given)
	if err := r.keepDisplay(given); err != nil {
		return err
	}
	return r.c.Redirect(http.StatusSeeOther, localPath(r.c.FormValue("back")))
}

func knownZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local" && len(name) <= 64
}

// showBy lets the browser say the choices with every request from now on.
func (r *request) showBy(chosen url.Values) {
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		k := &http.Cookie{Name: name, Value: chosen.Get(name), Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteStrictMode, Secure: r.s.secure(r.c.Request())}
		if k.Value == "" {
			k.MaxAge = -1
		}
		r.c.SetCookie(k)
	}
}

// keepDisplay adds to what a person has chosen before. On a full disk only this browser
// knows it.
func (r *request) keepDisplay(given url.Values) error {
	if r.who.Name == "" || len(given) == 0 {
		return nil
	}
	kept := r.keptDisplay(r.who)
	maps.Copy(kept, given)
	err := r.s.App.Preferences.Set(r.ctx, app.Preference{Meta: r.meta(), Key: displayKey, Value: kept.Encode()})
	if domain.CodeOf(err) == domain.CodeNoSpace {
		return nil
	}
	return err
}

// keptDisplay is what a person has chosen, as far as it is a choice now.
func (r *request) keptDisplay(who principal) url.Values {
	text, err := r.s.App.Preferences.Get(r.ctx, who.actor(), displayKey)
	if err != nil {
		r.s.Logger.Error("read how a person wants pages", "err", err) // no reason to keep them out
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

// restoreDisplay shows pages as a person wants them who logs in: what they chose goes
// before what this browser was told.
func (r *request) restoreDisplay(u domain.User) { r.showBy(r.keptDisplay(principal{User: u})) }

// zoneSet is the time zone that the reader chose; empty: the server's.
func (r *request) zoneSet() string {
	if c, err := r.c.Cookie("zone"); err == nil && len(c.Value) <= 64 {
		if _, err := time.LoadLocation(c.Value); err == nil {
			return c.Value
		}
	}
	return ""
}

// displayChoices are the choices with what is chosen.
func (r *request) displayChoices() []view.Choice {
	now := map[string]string{"lang": r.display.lang.Tag, "theme": r.display.theme, "times": r.display.times, "density": r.display.density, "inspector": r.display.inspector, "shortcuts": r.display.shortcuts}
	var out []view.Choice
	for _, c := range choices {
		v := view.Choice{Name: c.name, Label: r.t(c.label)}
		for i, value := range c.values {
			v.Options = append(v.Options, view.Option{Value: value, Text: r.t(c.words[i]), Selected: value == now[c.name]})
		}
		out = append(out, v)
	}
	return out
}

// t is a message in the reader's language (package locale).
func (r *request) t(text string, args ...any) string { return r.display.lang.Text(text, args...) }

// n is a message about n things.
func (r *request) n(n int, one, other string, args ...any) string {
	return r.display.lang.Count(n, one, other, args...)
}

// number writes a whole number as the reader does.
func (r *request) number(n int64) string { return r.display.lang.Number(n) }

// time is a moment in the reader's zone and form; what is older than today says
// its date. Pages print, or carry as a title, UTC beside it.
func (r *request) time(t time.Time) view.Time {
	if t.IsZero() {
		return view.Time{}
	}
	local, now := t.In(r.display.zone), r.s.now().In(r.display.zone)
	v := view.Time{UTC: t.UTC().Format("2006-01-02T15:04:05.000Z"), Title: local.Format("2006-01-02 15:04:05.000 MST (UTC-07:00)")}
	switch {
	case r.display.times == "relative":
		v.Text = r.ago(now.Sub(local))
	case now.Format(time.DateOnly) == local.Format(time.DateOnly):
		v.Text = local.Format("15:04:05")
	default:
		v.Text = local.Format("2006-01-02 15:04:05")
	}
	switch {
	case r.display.times == "utc":
		v.Text += "Z"
	case r.display.times != "relative" && repeated(local):
		v.Text += local.Format(" UTC-07:00")
	}
	return v
}

// repeated reports whether a time is in an hour that the clock shows twice,
// since summer time ends in it.
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

// ago says how long ago something was, or in how long it will be.
func (r *request) ago(d time.Duration) string {
	if d < 0 {
		return r.t("in %s", about(-d))
	}
	return r.t("%s ago", about(d))
}

// about is a duration in its largest unit.
func about(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}
