package graph

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Rooms in which graphs are drawn: above a timeline, in a card, and in a column.
var (
	Strip = diagram.Room{W: 900, H: 230}
	Wide  = diagram.Room{W: 1150, H: 480}
	Pane  = diagram.Room{W: 780, H: 640}
)

const (
	// Overview is the minimum scale of a graph that fits its room. At this scale, states are still
	// distinguishable.
	Overview = 0.3
	// screen is the preferred maximum height of a graph that fits.
	screen = 800
)

// Fit makes the graph as wide as its room, with at least the scale least.
func (g *Graph) Fit(d *diagram.Drawing, least float64) {
	g.Drawn, g.Least = num(d.Width*min(1, max(least, screen/d.Height))), num(d.Width*least)
}

// zooms are the sizes that a user can choose.
var zooms = []struct {
	key, word string
	factor    float64
}{{"", locale.Mark("Fit"), 0}, {"100", "100%", 1}, {"150", "150%", 1.5}}

// Zoom sets the size from the address, and adds links to the other sizes. href returns the address
// of the page with another size.
func (g *Graph) Zoom(c *ui.Context, d *diagram.Drawing, href func(size string) string) {
	row := Setting{Name: c.T("Zoom")}
	size := c.Query("zoom")
	if size == "fit" { // old addresses contain "fit"
		size = ""
	}
	for _, z := range zooms {
		row.Links = append(row.Links, kit.Link{Text: c.T(z.word), Href: href(z.key), Current: size == z.key})
		if size != z.key {
			continue
		}
		if g.Drawn = num(d.Width * z.factor); z.factor == 0 {
			g.Fit(d, Overview)
		}
	}
	g.Settings = append(g.Settings, row)
}

// Written draws the graph of a plan. On the pages of a plan, a link on each box selects its step.
func Written(c *ui.Context, l *Layouts, p *walk.Program, effects []walk.Effect) *Graph {
	drawn := Painter{Selected: c.Query("node"), Focus: c.Query("node") != ""}
	o := diagram.Options{Focus: drawn.Selected, Room: Wide}
	if len(p.Nodes) > FoldFrom && c.Query("all") == "" {
		o.Most = FoldTo
	}
	here := c.Echo.Request().URL.Path
	if c.Echo.Request().Method == http.MethodGet && !strings.HasSuffix(here, "/edit") && !strings.HasSuffix(here, "/new") {
		drawn.Href = func(node string) string { return here + "?" + url.Values{"node": {node}}.Encode() + "#why" }
	}
	drawn.Drawing = l.Draw(p, effects, o)
	g := drawn.Paint(c)
	g.Fit(drawn.Drawing, Overview)
	if o.Most > 0 && drawn.Href != nil {
		g.Fold(c, drawn.Drawing, len(p.Nodes), here+"?all=1")
	}
	return g
}
