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

// stateOf returns the state of a circuit as a status.
func stateOf(s domain.CircuitState) kit.Status {
	switch s {
	case domain.CircuitOpen:
		return kit.Word("fail", "i-pause", locale.Mark("circuit open"), false)
	case domain.CircuitHalfOpen:
		return kit.Word("need", "i-need", locale.Mark("half open"), false)
	}
	return kit.Word("ok", "i-ok", locale.Mark("closed"), false)
}

// RowOf returns the row of a circuit: its state, the reason, and the remaining time. page is the
// address of the tool or provider.
func RowOf(c *ui.Context, of domain.Circuit, page string) Row {
	row := Row{
		Part:    kit.Escape(of.Part),
		State:   stateOf(of.State),
		Since:   c.Time(of.Since),
		Failed:  c.Number(int64(of.FailuresInRow)),
		Error:   kit.Shorten(kit.Escape(of.LastError)),
		ErrorAt: c.Time(of.LastErrorAt),
	}
	if left := of.OpenUntil.Sub(c.Site.Now()); of.State == domain.CircuitOpen {
		row.Until = Countdown{Text: kit.ApproxDuration(max(left+time.Second-1, time.Second)), At: of.OpenUntil.UnixMilli()}
	}
	if of.FailuresInRow > 0 {
		row.Why = c.N(of.FailuresInRow, "%s call in a row has failed", "%s calls in a row have failed")
	}
	if of.Disturbed() && c.Principal.Role.Includes(domain.RoleOperator) {
		row.Action = kit.Link{Text: c.T("Enable…"), Href: enableHref(page, of.Part), Dialog: true}
	}
	return row
}

// Rows returns the rows of the circuits of one tool or provider.
func Rows(c *ui.Context, list []domain.Circuit, page string) []Row {
	out := make([]Row, len(list))
	for i, of := range list {
		out[i] = RowOf(c, of, page)
	}
	return out
}

// OpenOf returns a tool's circuit with a link to the tool.
func OpenOf(c *ui.Context, of domain.ToolCircuit) Open {
	return Open{Name: kit.CircuitOf(of.Tool, of.Part), Href: link.Tool(of.Tool), Row: RowOf(c, of.Circuit, link.Tool(of.Tool))}
}

// enableHref returns the address of the form that closes the circuit of a host, or all circuits of
// the tool or provider if host is empty.
func enableHref(page, host string) string {
	if host == "" {
		return page + "/enable"
	}
	return page + "/enable?" + url.Values{"host": {host}}.Encode()
}

// Degraded returns the providers whose last call failed, or that are in cooldown after failures.
func Degraded(c *ui.Context) ([]domain.ProviderInfo, error) {
	list, err := c.Site.App.Providers.List(c, c.Principal.Actor())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(p domain.ProviderInfo) bool { return !p.Degraded() }), nil
}
