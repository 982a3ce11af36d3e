package circuit

import (
	"net/url"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// stateOf is where a circuit stands, as operators read it.
func stateOf(s domain.CircuitState) kit.Status {
	switch s {
	case domain.CircuitOpen:
		return kit.Word("fail", "i-pause", locale.Mark("circuit open"), false)
	case domain.CircuitHalfOpen:
		return kit.Word("need", "i-need", locale.Mark("half open"), false)
	}
	return kit.Word("ok", "i-ok", locale.Mark("closed"), false)
}

// RowOf builds the row of a circuit: its state, the reason, and the time left. page is where the tool or the
// provider is shown.
func RowOf(c *ui.Context, of domain.Circuit, page string) Row {
	row := Row{
		Part:    kit.Visible(of.Part),
		State:   stateOf(of.State),
		Since:   c.Time(of.Since),
		Failed:  c.Number(int64(of.FailuresInRow)),
		Error:   kit.Shorten(kit.Visible(of.LastError)),
		ErrorAt: c.Time(of.LastErrorAt),
	}
	if left := of.OpenUntil.Sub(c.Site.Now()); of.State == domain.CircuitOpen {
		row.Until = Countdown{Text: kit.About(max(left+time.Second-1, time.Second)), At: of.OpenUntil.UnixMilli()}
	}
	if of.FailuresInRow > 0 {
		row.Why = c.N(of.FailuresInRow, "%s call in a row has failed", "%s calls in a row have failed")
	}
	if of.Disturbed() && c.Who.Role.Includes(domain.RoleOperator) {
		row.Action = kit.Link{Text: c.T("Enable…"), Href: enableHref(page, of.Part), Dialog: true}
	}
	return row
}

// Rows are several, of one tool or provider.
func Rows(c *ui.Context, list []domain.Circuit, page string) []Row {
	out := make([]Row, len(list))
	for i, of := range list {
		out[i] = RowOf(c, of, page)
	}
	return out
}

// OpenOf is one circuit of a tool where something waits for it, with a link to
// the tool.
func OpenOf(c *ui.Context, of domain.ToolCircuit) Open {
	return Open{Name: kit.CircuitOf(of.Tool, of.Part), Href: link.Tool(of.Tool), Row: RowOf(c, of.Circuit, link.Tool(of.Tool))}
}

// enableHref is the page that closes the circuit of a host, or of all that page is about.
func enableHref(page, host string) string {
	if host == "" {
		return page + "/enable"
	}
	return page + "/enable?" + url.Values{"host": {host}}.Encode()
}

// Degraded are the providers whose last call failed, or that are not called for
// a while because of that.
func Degraded(c *ui.Context) ([]domain.ProviderInfo, error) {
	list, err := c.Site.App.Providers.List(c, c.Who.Actor())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(p domain.ProviderInfo) bool { return !p.Degraded() }), nil
}
