package home

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// sectionDeadline limits the time in which a section is read. A section that exceeds it shows an
// error, and the other sections are unaffected.
const sectionDeadline = 2 * time.Second

// homeSection is a section of home. Each section is read separately, so that an error affects only
// that section.
type homeSection struct {
	id, heading string
	place       place
	topic       string // live topic; the id if empty
	// live sections follow their topic. every is the minimum interval between refreshes, in ms.
	live  bool
	every int
	// build returns the content of the section, or nil if it has none.
	build func(*section, *ui.Context) (templ.Component, error)
}

// place is the position of a section on the page.
type place int

const (
	top place = iota
	mainColumn
	sideColumn
)

// homeSections are in the order of the page.
var homeSections = []homeSection{
	{id: "situation", heading: locale.Mark("Home"), topic: "attention", live: true, every: 2000, build: (*section).situationSection},
	{id: "since", heading: locale.Mark("Since you left"), build: (*section).sinceSection},
	{id: "figures", heading: locale.Mark("Key figures"), topic: "day", live: true, every: 60_000, build: (*section).figuresSection},
	{id: "chart", heading: locale.Mark("Runs by half hour"), topic: "day", live: true, every: 60_000, build: (*section).chartSection},
	{id: "attention", heading: locale.Mark("Problems"), place: mainColumn, live: true, every: 2000, build: (*section).attentionSection},
	{id: "day", heading: locale.Mark("Plans"), place: mainColumn, live: true, every: 60_000, build: (*section).daySection},
	{id: "approvals", heading: locale.Mark("Action required"), place: sideColumn, live: true, every: 2000,
		build: (*section).approvalsSection},
	{id: "now", heading: locale.Mark("Running now"), place: sideColumn, live: true, every: 2000, build: (*section).nowSection},
	{id: "system", heading: locale.Mark("System"), place: sideColumn, live: true, every: 2000, build: (*section).systemSection},
}

// readSections reads all sections concurrently and assigns each to its column.
func (s *section) readSections(c *ui.Context, p *HomePage) {
	all := make([]HomeSection, len(homeSections))
	var reading sync.WaitGroup
	for i, b := range homeSections {
		reading.Go(func() { all[i] = s.read(c, b) })
	}
	reading.Wait()
	columns := map[place]*[]HomeSection{top: &p.Top, mainColumn: &p.Main, sideColumn: &p.Side}
	for i, b := range all {
		if b.Content != nil || b.Failed != "" {
			into := columns[homeSections[i].place]
			*into = append(*into, b)
		}
	}
}

// fragments returns the live regions: the sections, and the getting-started steps of a server
// without runs.
func (s *section) fragments() []ui.Fragment {
	out := []ui.Fragment{{Page: "/", ID: "first", Operation: app.ListFailures, Topics: []string{"runs"}, Build: s.firstAgain}}
	out = append(out, ui.Fragment{
		Page: "/failures", ID: "groups", Operation: app.ListFailures, Topics: []string{"attention"},
		Build: func(c *ui.Context) (templ.Component, error) {
			v, err := s.groupList(c)
			return groupList(v), err
		},
	})
	for _, b := range homeSections {
		f := ui.Fragment{Page: "/", ID: b.id, Operation: app.ListFailures, Build: func(c *ui.Context) (templ.Component, error) {
			v := s.read(c, b)
			if v.Failed == "" && v.Version == c.Query("v") {
				return nil, nil // the browser has this version
			}
			return SectionView(v), nil
		}}
		if b.live {
			f.Topics = []string{cmp.Or(b.topic, b.id)}
		}
		out = append(out, f)
	}
	return out
}

// firstAgain reloads the page of a server without runs after its first run has started.
func (s *section) firstAgain(c *ui.Context) (templ.Component, error) {
	counts, err := s.Reader.RunCounts(c)
	if err == nil && counts.Total > 0 {
		c.Echo.Response().Header().Set("HX-Refresh", "true")
	}
	return nil, err
}

// read reads one section. It returns errors and panics as the message of the section.
func (s *section) read(c *ui.Context, b homeSection) (v HomeSection) {
	v = HomeSection{ID: b.id, Heading: c.T(b.heading), Every: strconv.Itoa(b.every)}
	if b.live {
		v.Topic = cmp.Or(b.topic, b.id)
	}
	failed := func(err error) {
		if errors.Is(c.Err(), context.Canceled) {
			return // the client has disconnected
		}
		id := kit.NewID()
		c.Site.Logger.Error("a section of home failed", "id", id, "section", b.id, "err", err)
		v.Failed = c.T("This part could not be read. Error %s.", id)
		if errors.Is(err, context.DeadlineExceeded) {
			v.Failed = c.T("This part took too long to read. Error %s.", id)
		}
	}
	defer func() {
		if p := recover(); p != nil {
			failed(fmt.Errorf("panic: %v", p))
		}
	}()
	ctx, cancel := context.WithTimeout(c, sectionDeadline)
	defer cancel()
	content, err := b.build(s, c.WithContext(ctx))
	if err != nil {
		failed(err)
		return v
	}
	if content == nil {
		return v
	}
	var out bytes.Buffer
	if err := content.Render(ctx, &out); err != nil {
		failed(err)
		return v
	}
	v.Content = written(out.Bytes())
	sum := fnv.New64a()
	sum.Write(out.Bytes())
	v.Version = strconv.FormatUint(sum.Sum64(), 36)
	return v
}

// written is rendered content. It is rendered once, because the version is computed from it.
type written []byte

// Render implements templ.Component.
func (p written) Render(_ context.Context, w io.Writer) error {
	_, err := w.Write(p)
	return err
}
