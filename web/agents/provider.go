package agents

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// provider returns the provider in the address.
func (s *section) provider(c *ui.Context) (domain.ProviderInfo, error) {
	list, err := s.App.Providers.List(c, c.Principal.Actor())
	if err != nil {
		return domain.ProviderInfo{}, err
	}
	for _, v := range list {
		if v.Name == c.Param("provider") {
			return v, nil
		}
	}
	return domain.ProviderInfo{}, domain.Errorf(domain.CodeNotFound, "there is no provider %q", kit.Escape(c.Param("provider")))
}

// providerPage serves the page of a provider: its limits, its calls, and the age of its key. It
// never contains the key.
func (s *section) providerPage(c *ui.Context) error {
	v, err := s.provider(c)
	if err != nil {
		return err
	}
	p := ProviderPage{Shell: c.Shell("agents", kit.Escape(v.Name)), Name: kit.Escape(v.Name), State: providerState(v),
		Disabled: disabledText(c, v.Disabled), Limits: s.providerLimits(c, v), Pulse: s.pulse(c, v.Activity),
		Circuit: s.providerCircuit(c, v), Facts: s.providerFacts(c, v)}
	p.Live = true
	p.Failures, p.Counts = s.failures(c, v.Activity)
	agents, err := s.App.Agents.List(c, c.Principal.Actor())
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.Provider == v.Name {
			p.Agents = append(p.Agents, kit.Link{Text: kit.Escape(a.Name), Href: link.Agent(a.ID)})
		}
	}
	p.Actions = append(p.Actions, switchLinks(c, link.Provider(v.Name), v.Disabled != nil, v.Circuit)...)
	return c.Render(http.StatusOK, Provider(p))
}

// providerFacts describes the settings of a provider and its use today.
func (s *section) providerFacts(c *ui.Context, v domain.ProviderInfo) (facts []kit.Fact) {
	fact := func(term, text string) {
		if text != "" {
			facts = append(facts, kit.Fact{Term: c.T(term), Text: text})
		}
	}
	models := kit.Escape(strings.Join(v.Models, ", "))
	if models == "" && v.Type != "offline" {
		models = c.T("any")
	}
	fact(locale.Mark("Type"), v.Type)
	fact(locale.Mark("Address"), kit.Escape(v.BaseURL))
	fact(locale.Mark("Model"), kit.Escape(v.Model))
	fact(locale.Mark("Allowed models"), models)
	facts = append(facts, s.callFacts(c, v.Activity)...)
	today := s.today(c, v.Activity)
	fact(locale.Mark("Tokens today"), c.Number(today.InputTokens)+" + "+c.Number(today.OutputTokens))
	fact(locale.Mark("Cost today"), value.Cost(c, today.Cost))
	fact(locale.Mark("Cost in 24 hours"), value.Cost(c, v.Activity.Usage.Cost))
	fact(locale.Mark("Key"), s.keyText(c, v.Key))
	fact(locale.Mark("If it fails"), c.T("Calls wait as their steps' retries require; no other provider takes over automatically."))
	return facts
}

// keyText returns the source and the age of an API key.
func (s *section) keyText(c *ui.Context, k *domain.KeyInfo) string {
	if k == nil {
		return c.T("none")
	}
	text := kit.Escape(k.Source)
	switch {
	case !k.Set:
		text += ": " + c.T("it is empty")
	case !k.ChangedAt.IsZero():
		text += ": " + c.T("written %s", c.Ago(c.Site.Now().Sub(k.ChangedAt)))
	}
	return text
}

// providerLimits returns a bar for each rate limit that the provider reported.
func (s *section) providerLimits(c *ui.Context, v domain.ProviderInfo) []LimitBar {
	var out []LimitBar
	for _, l := range v.Limits {
		used := l.Limit - l.Remaining
		if !l.ResetAt.IsZero() && c.Site.Now().After(l.ResetAt) {
			used = 0 // the limit has been reset since
		}
		share := float64(used) / float64(max(l.Limit, 1))
		b := LimitBar{
			Of:    l.Of,
			Text:  c.T(limitWords[l.Of], c.Number(used), c.Number(l.Limit)),
			Width: fmt.Sprintf("%.1f%%", 100*share),
			Bad:   share > 0.9,
			At:    c.Time(l.At),
		}
		out = append(out, b)
	}
	return out
}

// limitWords are the texts for the used part of a rate limit, by its kind.
var limitWords = map[string]string{
	"requests": locale.Mark("%s of %s requests used"), "tokens": locale.Mark("%s of %s tokens used"),
	"input tokens": locale.Mark("%s of %s input tokens used"), "output tokens": locale.Mark("%s of %s output tokens used"),
}

// today returns the usage since midnight in the user's time zone.
func (s *section) today(c *ui.Context, a domain.Activity) domain.Usage {
	now := c.Site.Now().In(c.Display.Zone)
	_, u := a.Since(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, c.Display.Zone))
	return u
}
