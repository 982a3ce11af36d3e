package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// provider finds the provider that the address names.
func (r *request) provider() (domain.ProviderInfo, error) {
	list, err := r.s.App.Providers.List(r.ctx, r.who.actor())
	if err != nil {
		return domain.ProviderInfo{}, err
	}
	for _, v := range list {
		if v.Name == r.c.Param("provider") {
			return v, nil
		}
	}
	return domain.ProviderInfo{}, domain.Errorf(domain.CodeNotFound, "there is no provider %q", visible(r.c.Param("provider")))
}

// providerPage shows one provider of models: its limits, how calls went, its key's
// age. The key itself is nowhere.
func (r *request) providerPage() error {
	v, err := r.provider()
	if err != nil {
		return err
	}
	p := view.ProviderPage{Shell: r.shell("agents", visible(v.Name)), Name: visible(v.Name), State: providerState(v), Stopped: r.stopText(v.Stop), Limits: r.providerLimits(v), Pulse: r.pulse(v.Activity)}
	p.Circuit, p.Live = r.providerCircuit(v), true
	p.Failures, p.Counts = r.failures(v.Activity)
	fact := func(term, text string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: r.t(term), Text: text})
		}
	}
	models := visible(strings.Join(v.Models, ", "))
	if models == "" && v.Type != "offline" {
		models = r.t("any")
	}
	fact(locale.Mark("Type"), v.Type)
	fact(locale.Mark("Address"), visible(v.BaseURL))
	fact(locale.Mark("Model"), visible(v.Model))
	fact(locale.Mark("Models that plans may name"), models)
	p.Facts = append(p.Facts, r.callFacts(v.Activity)...)
	today := r.today(v.Activity)
	fact(locale.Mark("Tokens today"), r.number(today.InputTokens)+" + "+r.number(today.OutputTokens))
	fact(locale.Mark("Cost today"), r.cost(today.Cost))
	fact(locale.Mark("Cost in 24 hours"), r.cost(v.Activity.Usage.Cost))
	fact(locale.Mark("Key"), r.keyText(v.Key))
	fact(locale.Mark("If it fails"), r.t("Calls wait as their steps' retries say; no other provider takes over by itself."))
	agents, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.Provider == v.Name {
			p.Agents = append(p.Agents, view.Link{Text: visible(a.Name), Href: agentHref(a.ID)})
		}
	}
	if r.who.Role.Includes(domain.RoleOperator) {
		l := view.Link{Text: r.t("Drain…"), Href: providerHref(v.Name) + "/stop", Dialog: true}
		if v.Stop != nil {
			l.Text = r.t("Allow its calls again…")
		}
		p.Actions = append(p.Actions, l)
	}
	return r.render(http.StatusOK, view.Provider(p))
}

// keyText says where a key comes from and how old it is.
func (r *request) keyText(k *domain.KeyInfo) string {
	if k == nil {
		return r.t("none")
	}
	text := visible(k.Source)
	switch {
	case !k.Set:
		text += ": " + r.t("it is empty")
	case !k.ChangedAt.IsZero():
		text += ": " + r.t("written %s", r.ago(r.s.now().Sub(k.ChangedAt)))
	}
	return text
}

// providerLimits are what a provider said of its limits, as bars of what is used.
func (r *request) providerLimits(v domain.ProviderInfo) []view.LimitBar {
	var out []view.LimitBar
	for _, l := range v.Limits {
		used := l.Limit - l.Remaining
		if !l.ResetAt.IsZero() && r.s.now().After(l.ResetAt) {
			used = 0 // all of it is there again
		}
		share := float64(used) / float64(max(l.Limit, 1))
		b := view.LimitBar{Of: l.Of, Text: r.t(limitWords[l.Of], r.number(used), r.number(l.Limit)), Width: fmt.Sprintf("%.1f%%", 100*share), Bad: share > 0.9, At: r.time(l.At)}
		out = append(out, b)
	}
	return out
}

// limitWords say how much of a limit is used.
var limitWords = map[string]string{
	"requests": locale.Mark("%s of %s requests used"), "tokens": locale.Mark("%s of %s tokens used"),
	"input tokens": locale.Mark("%s of %s input tokens used"), "output tokens": locale.Mark("%s of %s output tokens used"),
}

// today is what was used since midnight where the reader is.
func (r *request) today(a domain.Activity) domain.Usage {
	now := r.s.now().In(r.display.zone)
	_, u := a.Since(time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, r.display.zone))
	return u
}

// stopProviderPage asks before a provider is drained, or called again.
func (r *request) stopProviderPage() error { return r.showStopProvider(http.StatusOK, "") }

func (r *request) showStopProvider(code int, problem string) error {
	v, err := r.provider()
	if err != nil {
		return err
	}
	agents, err := r.s.App.Agents.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	agents = slices.DeleteFunc(agents, func(a domain.AgentInfo) bool { return a.Provider != v.Name })
	p := view.ConfirmPage{Crumb: view.Link{Text: r.t("Providers"), Href: "/agents/providers"}, Back: providerHref(v.Name), Error: problem,
		Facts: []view.Fact{{Term: r.t("Agents that speak through it"), Text: r.number(int64(len(agents)))}}}
	return r.stopPage(code, p, visible(v.Name), v.Stop, v.Activity)
}

func (r *request) stopProvider() error {
	name := r.c.Param("provider")
	return r.stop(name, providerHref(name), r.s.App.Providers.Stop, r.showStopProvider)
}
