package value

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// effectNames are the side-effect classes of steps and tools.
var effectNames = map[string]string{
	string(walk.EffectPure): locale.Mark(
		"pure",
	), string(walk.EffectRead): locale.Mark("read"), string(walk.EffectIdempotent): locale.Mark("idempotent"),
	string(walk.EffectUnsafe): locale.Mark("unsafe"), string(walk.EffectControl): locale.Mark("control"),
}

// Effect returns the name of a side-effect class in the user's language.
func Effect(c *ui.Context, e string) string {
	if w, ok := effectNames[e]; ok {
		return c.T(w)
	}
	return kit.Escape(e)
}

// Permissions describe the permissions of a tool.
var Permissions = map[string]string{
	"allow": locale.Mark("It is allowed."),
	"ask":   locale.Mark("Each call requires an approval."),
	"deny":  locale.Mark("The configuration denies all calls."),
}

// Schema shows a JSON Schema as indented JSON.
func Schema(id, title string, schema map[string]any) kit.Block {
	if len(schema) == 0 {
		return kit.Block{ID: id, Title: title, Text: "—"}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema); err != nil {
		return kit.Block{ID: id, Title: title, Text: kit.Escape(err.Error())}
	}
	return kit.Block{ID: id, Title: title, Text: kit.Escape(strings.TrimSpace(b.String()))}
}

// Money returns an amount with two decimals, or with four if it is below one cent.
func Money(c *ui.Context, amount float64) string {
	if amount >= .01 {
		return c.Display.Lang.Decimal(amount, 2)
	}
	return Cost(c, amount)
}

// Cost returns the cost of model calls, in the currency of the configuration.
func Cost(c *ui.Context, cost float64) string {
	if cost == 0 {
		return "0"
	}
	return c.Display.Lang.Decimal(cost, 4)
}
