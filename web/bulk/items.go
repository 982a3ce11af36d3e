package bulk

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/ui"
)

// maxItems is the maximum number of runs per page.
const maxItems = 100

// outcome is the result for a run. state is its name in the API.
type outcome struct {
	state string
	word  kit.Status
}

// outcomes are the possible results for a run.
var outcomes = []outcome{
	{"acted", kit.Word("ok", "i-ok", locale.Mark("Done"), true)},
	{"refused", kit.Word("need", "i-need", locale.Mark("Refused"), true)},
	{"pending", kit.Word("idle", "i-queued", locale.Mark("Pending"), false)},
}

// items returns the runs of a bulk operation, filtered by the status in the query.
func (s *section) items(c *ui.Context) (Items, error) {
	b, err := s.App.Bulk.Get(c, c.Principal.Actor(), c.Param("bulk"))
	if err != nil {
		return Items{}, err
	}
	at, state := "/bulk/"+b.ID, c.Query("status")
	v := Items{Address: c.Echo.Request().URL.RequestURI()}
	if !b.State.Final() {
		v.Topic = "runs"
	}
	v.Outcomes = append(v.Outcomes, kit.Link{Text: c.T("All"), Count: c.Number(b.Total), Href: at, Current: state == ""})
	counts := map[string]int64{"acted": b.Acted, "refused": b.Refused, "pending": b.Total - b.Acted - b.Refused}
	for _, o := range outcomes {
		v.Outcomes = append(v.Outcomes, kit.Link{
			Text: c.T(o.word.Word), Count: c.Number(counts[o.state]),
			Href: link.With(at, url.Values{"status": {o.state}}), Current: state == o.state,
		})
	}
	after, err := strconv.ParseInt(c.Query("after"), 10, 64)
	if err != nil {
		after = 0 // start at the first run
	}
	if state != "" && !slices.ContainsFunc(outcomes, func(o outcome) bool { return o.state == state }) {
		return Items{}, domain.Errorf(domain.CodeInvalid, "status %q is not pending, acted, or refused", kit.Escape(state))
	}
	filter := domain.BulkItemFilter{Bulk: b.ID, State: state, After: after, Limit: maxItems + 1}
	list, err := s.App.Bulk.Items(c, c.Principal.Actor(), filter)
	if err != nil {
		return Items{}, err
	}
	more := len(list) > maxItems
	list = list[:min(len(list), maxItems)]
	for _, it := range list {
		v.Rows = append(v.Rows, itemOf(c, b, it))
	}
	if more {
		v.Older = link.With(at, url.Values{"after": {strconv.FormatInt(list[len(list)-1].Position, 10)}}, "status", state)
	}
	return v, nil
}

// itemOf returns a row of the list: a run, a slot of a schedule, or a delivery. The first row is the canary, if
// the operation has one.
func itemOf(c *ui.Context, b domain.Bulk, it domain.BulkItem) Item {
	row := Item{
		Run:    kit.Link{Text: domain.ShortID(it.Run), Href: "/runs/" + it.Run},
		Detail: c.Message(it.Message), At: c.Time(it.At),
		Node: kit.Escape(it.Node), Code: kit.Escape(it.Code),
		Canary: b.Canary && it.Position <= 1,
	}
	if _, slot, err := domain.SplitSlotName(it.Run); err == nil { // slot of a backfill
		row.Run = kit.Link{Text: c.Time(slot).Text, Href: link.List("/runs", b.Query)}
	}
	if b.Action == domain.ActionReplay { // a delivery
		row.Run.Href = incoming.Delivery(it.Run)
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
