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

// bandDeadline is how long one band may read. A band that takes longer shows that;
// the others do not wait for it.
const bandDeadline = 2 * time.Second

// homeBand is one part of home. It has a topic of its own and is read alone,
// so that one that cannot be read leaves the others as they are.
type homeBand struct {
	id, heading string
	place       place
	topic       string // that it follows; empty: that of its id
	// live bands follow the topic of their name, at most once in every ms.
	live  bool
	every int
	// build gives the band's content; nil: there is nothing to say, and no band.
	build func(*section, *ui.Context) (templ.Component, error)
}

// place is where on the page a band is.
type place int

const (
	top place = iota
	mainColumn
	sideColumn
)

// homeBands stand on the page in this order.
var homeBands = []homeBand{
	{id: "situation", heading: locale.Mark("Home"), topic: "attention", live: true, every: 2000, build: (*section).situationBand},
	{id: "since", heading: locale.Mark("Since you left"), build: (*section).sinceBand},
	{id: "figures", heading: locale.Mark("Key figures"), topic: "day", live: true, every: 60_000, build: (*section).figuresBand},
	{id: "chart", heading: locale.Mark("Runs by half hour"), topic: "day", live: true, every: 60_000, build: (*section).chartBand},
	{id: "attention", heading: locale.Mark("Problems"), place: mainColumn, live: true, every: 2000, build: (*section).attentionBand},
	{id: "day", heading: locale.Mark("Plans"), place: mainColumn, live: true, every: 60_000, build: (*section).dayBand},
	{id: "approvals", heading: locale.Mark("Action required"), place: sideColumn, live: true, every: 2000, build: (*section).approvalsBand},
	{id: "now", heading: locale.Mark("Running now"), place: sideColumn, live: true, every: 2000, build: (*section).nowBand},
	{id: "system", heading: locale.Mark("System"), place: sideColumn, live: true, every: 2000, build: (*section).systemBand},
}

// bands reads all bands at the same time, and puts each where it belongs.
func (s *section) bands(c *ui.Context, p *HomePage) {
	all := make([]Band, len(homeBands))
	var reading sync.WaitGroup
	for i, b := range homeBands {
		reading.Go(func() { all[i] = s.band(c, b) })
	}
	reading.Wait()
	columns := map[place]*[]Band{top: &p.Top, mainColumn: &p.Main, sideColumn: &p.Side}
	for i, b := range all {
		if b.Content != nil || b.Failed != "" {
			into := columns[homeBands[i].place]
			*into = append(*into, b)
		}
	}
}

// fragments are the bands, and the first steps of a server without runs.
func (s *section) fragments() []ui.Fragment {
	out := []ui.Fragment{{Page: "/", ID: "first", Operation: app.ListFailures, Topics: []string{"runs"}, Build: s.firstAgain}}
	out = append(out, ui.Fragment{
		Page: "/failures", ID: "groups", Operation: app.ListFailures, Topics: []string{"attention"},
		Build: func(c *ui.Context) (templ.Component, error) {
			v, err := s.groupList(c)
			return groupList(v), err
		},
	})
	for _, b := range homeBands {
		f := ui.Fragment{Page: "/", ID: b.id, Operation: app.ListFailures, Build: func(c *ui.Context) (templ.Component, error) {
			v := s.band(c, b)
			if v.Failed == "" && v.Version == c.Query("v") {
				return nil, nil // the page has it
			}
			return HomeBand(v), nil
		}}
		if b.live {
			f.Topics = []string{cmp.Or(b.topic, b.id)}
		}
		out = append(out, f)
	}
	return out
}

// firstAgain replaces the first steps by the bands, once there is a run.
func (s *section) firstAgain(c *ui.Context) (templ.Component, error) {
	counts, err := s.Reader.RunCounts(c)
	if err == nil && counts.Total > 0 {
		c.Echo.Response().Header().Set("HX-Refresh", "true")
	}
	return nil, err
}

// band reads one band. Whatever goes wrong stays in it.
func (s *section) band(c *ui.Context, b homeBand) (v Band) {
	v = Band{ID: b.id, Heading: c.T(b.heading), Every: strconv.Itoa(b.every)}
	if b.live {
		v.Topic = cmp.Or(b.topic, b.id)
	}
	failed := func(err error) {
		if errors.Is(c.Err(), context.Canceled) {
			return // the browser has gone, and the result is not needed
		}
		id := kit.NewID()
		c.Site.Logger.Error("a band of home failed", "id", id, "band", b.id, "err", err)
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
	ctx, cancel := context.WithTimeout(c, bandDeadline)
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
