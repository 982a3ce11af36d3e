package bulk

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// itemsMost is how many runs of a bulk operation a page lists.
	itemsMost = 100
	// itemsRead is how many are read at a time.
	itemsRead = 1000
)

// outcomes are what can become of a run of a bulk operation.
var outcomes = []struct {
	state string
	word  kit.Status
}{
	{"acted", kit.Word("ok", "i-ok", locale.Mark("Done"), true)},
	{"refused", kit.Word("need", "i-need", locale.Mark("Refused"), true)},
	{"pending", kit.Word("idle", "i-queued", locale.Mark("Pending"), false)},
}

// items are the runs of a bulk operation, with one outcome if the address asks for it.
func (s *section) items(c *ui.Context) (Items, error) {
	b, err := s.App.Bulk.Get(c, c.Who.Actor(), c.Param("bulk"))
	if err != nil {
		return Items{}, err
	}
	at, outcome := "/bulk/"+b.ID, c.Query("outcome")
	v := Items{Address: c.Echo.Request().URL.RequestURI()}
	if !b.State.Final() {
		v.Topic = "runs"
	}
	v.Outcomes = append(v.Outcomes, kit.Link{Text: c.T("All"), Count: c.Number(b.Total), Href: at, Current: outcome == ""})
	counts := map[string]int64{"acted": b.Acted, "refused": b.Refused, "pending": b.Total - b.Acted - b.Refused}
	for _, o := range outcomes {
		v.Outcomes = append(v.Outcomes, kit.Link{
			Text: c.T(o.word.Word), Count: c.Number(counts[o.state]),
			Href: link.With(at, url.Values{"outcome": {o.state}}), Current: outcome == o.state,
		})
	}
	after, err := strconv.ParseInt(c.Query("after"), 10, 64)
	if err != nil {
		after = 0 // the beginning
	}
	list, more, err := s.read(c, b.ID, outcome, after)
	if err != nil {
		return Items{}, err
	}
	for _, it := range list {
		v.Rows = append(v.Rows, itemOf(c, b, it))
	}
	if more {
		v.Older = link.With(at, url.Values{"after": {strconv.FormatInt(list[len(list)-1].Position, 10)}}, "outcome", outcome)
	}
	return v, nil
}

// read returns the runs of a bulk operation after a position, with an outcome unless that is empty, and
// whether there are more.
func (s *section) read(c *ui.Context, id, outcome string, after int64) (out []domain.BulkItem, more bool, err error) {
	for {
		list, err := s.App.Bulk.Items(c, c.Who.Actor(), id, after, itemsRead)
		if err != nil || len(list) == 0 {
			return out, false, err
		}
		after = list[len(list)-1].Position
		read := len(list)
		if outcome != "" {
			list = slices.DeleteFunc(list, func(it domain.BulkItem) bool { return it.State != outcome })
		}
		if out = append(out, list...); len(out) > itemsMost {
			return out[:itemsMost], true, nil
		}
		if read < itemsRead {
			return out, false, nil
		}
	}
}

// itemOf is a run of a bulk operation as the page lists it. The first run is the canary, if there is one.
func itemOf(c *ui.Context, b domain.Bulk, it domain.BulkItem) Item {
	row := Item{
		Run:    kit.Link{Text: domain.ShortID(it.Run), Href: "/runs/" + it.Run},
		Detail: c.Message(it.Message), At: c.Time(it.At),
		Node: kit.Visible(it.Node), Code: kit.Visible(it.Code),
		Canary: b.Canary && it.Position <= 1,
	}
	if it.Result != "" {
		row.Result = kit.Link{Text: domain.ShortID(it.Result), Href: "/runs/" + it.Result}
	}
	for _, o := range outcomes {
		if o.state == it.State {
			row.Status = o.word
		}
	}
	return row
}
