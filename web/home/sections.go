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

// sectionDeadline is how long one section may read. A section that takes longer shows that;
// the others do not wait for it.
const sectionDeadline = 2 * time.Second

// homeSection is one part of home. It has a topic of its own and is read alone,
// so that one that cannot be read leaves the others as they are.
type homeSection struct {
	id, heading string
	place       place
	topic       string // that it follows; empty: that of its id
	// live sections follow the topic of their name, at most once in every ms.
	live  bool
	every int
	// build gives the section's content; nil: there is nothing to say, and no section.
	build func(*section, *ui.Context) (templ.Component, error)
}

// place is where on the page a section is.
type place int

const (
	top place = iota
	mainColumn
	sideColumn
)

// homeSections stand on the page in this order.
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

// sections reads all sections at the same time, and puts each where it belongs.
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

// fragments are the sections, and the first steps of a server without runs.
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
				return nil, nil // the page has it
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

// firstAgain replaces the first steps by the sections, once there is a run.
func (s *section) firstAgain(c *ui.Context) (templ.Component, error) {
	counts, err := s.Reader.RunCounts(c)
	if err == nil && counts.Total > 0 {
		c.Echo.Response().Header().Set("HX-Refresh", "true")
	}
	return nil, err
}

// section reads one section. Whatever goes wrong stays in it.
func (s *section) read(c *ui.Context, b homeSection) (v HomeSection) {
	v = HomeSection{ID: b.id, Heading: c.T(b.heading), Every: strconv.Itoa(b.every)}
	if b.live {
		v.Topic = cmp.Or(b.topic, b.id)
	}
	failed := func(err error) {
		if errors.Is(c.Err(), context.Canceled) {
			return // the browser has gone, and the result is not needed
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
	content, err := b.build(s, c.Within(ctx))
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

// written is a part of a page that was rendered once, for its version, and is sent
// as it was.
type written []byte

// Render writes the part.
func (p written) Render(_ context.Context, w io.Writer) error {
	_, err := w.Write(p)
	return err
}
