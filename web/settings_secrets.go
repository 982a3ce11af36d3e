package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
	"github.com/kairosd/kairosd/web/view"
)

// useWords say what a secret belongs to besides plans.
var useWords = map[string]string{
	"provider": locale.Mark("provider %s"), "mcp": locale.Mark("tool server %s"), "channel": locale.Mark("notifications %s"),
	"login": locale.Mark("the identity provider"), "telemetry": locale.Mark("telemetry"),
}

// secretSettings lists secrets by name: where each comes from, how old it is, and
// who uses it. Never a value.
func (r *request) secretSettings() error {
	s, err := r.configured()
	if err != nil {
		return err
	}
	p := view.SecretsPage{Shell: r.shell("settings", "Secrets"), Source: r.source(s)}
	for _, v := range s.Secrets {
		row := view.SecretRow{Name: visible(v.Name), Source: visible(v.Source), Tools: visible(strings.Join(v.Tools, ", ")), Hosts: visible(strings.Join(v.Hosts, ", ")), Plain: v.Rotates || len(v.Tools) > 0 || len(v.UsedBy) == 0,
			Changed: r.time(v.ChangedAt), Taken: r.time(v.TakenAt), Pending: v.Pending}
		if !v.ChangedAt.IsZero() {
			row.Age = r.ago(r.s.now().Sub(v.ChangedAt))
		}
		if v.Rotates {
			row.Rotate = "/settings/secrets/" + url.PathEscape(v.Name) + "/rotate"
		}
		row.Uses = r.secretUses(v)
		p.Secrets = append(p.Secrets, row)
	}
	return r.render(http.StatusOK, view.Secrets(p))
}

// secretUses are the plans and parts of the configuration that use a secret.
func (r *request) secretUses(v domain.SecretInfo) []view.Link {
	var out []view.Link
	for _, u := range v.UsedBy {
		l := view.Link{Text: r.t(useWords[u.Kind])}
		switch u.Kind {
		case "provider":
			l = view.Link{Text: r.t("provider %s", visible(u.Name)), Href: "/agents/providers/" + url.PathEscape(u.Name)}
		case "mcp":
			l = view.Link{Text: r.t("tool server %s", visible(u.Name)), Href: "/agents/servers"}
		case "channel":
			l = view.Link{Text: r.t("notifications %s", visible(u.Name)), Href: "/settings/notifications"}
		case "login":
			l.Href = "/settings/access"
		}
		out = append(out, l)
	}
	for _, plan := range v.Plans {
		out = append(out, view.Link{Text: r.t("plan %s", visible(plan)), Href: "/plans/" + url.PathEscape(plan)})
	}
	if len(v.Plans) >= domain.MaxSecretPlans {
		out = append(out, view.Link{Text: r.t("all plans that name it"), Href: "/plans?" + url.Values{"q": {"secret:" + v.Name}}.Encode()})
	}
	return out
}

// rotateSecretPage asks before a new value is taken up (level 2).
func (r *request) rotateSecretPage() error { return r.showRotateSecret(http.StatusOK, "") }

func (r *request) showRotateSecret(code int, problem string) error {
	v, err := r.secret()
	if err != nil {
		return err
	}
	p := view.RotateSecretPage{Shell: r.shell("settings", "Secrets"), Idem: newID(), Error: problem, Source: visible(v.Source), Changed: r.time(v.ChangedAt), Taken: r.time(v.TakenAt), Pending: v.Pending,
		Action: "/settings/secrets/" + url.PathEscape(v.Name) + "/rotate", Question: r.t("Take up a new value of %s?", visible(v.Name)), Uses: r.secretUses(v)}
	p.Title = p.Question
	return r.render(code, view.RotateSecret(p))
}

// secret is the one of the address, if its value can be taken up anew.
func (r *request) secret() (domain.SecretInfo, error) {
	s, err := r.configured()
	if err != nil {
		return domain.SecretInfo{}, err
	}
	i := slices.IndexFunc(s.Secrets, func(v domain.SecretInfo) bool { return v.Rotates && v.Name == r.c.Param("secret") })
	if i < 0 {
		return domain.SecretInfo{}, domain.Errorf(domain.CodeNotFound, "there is no secret of this name in a file").Suggest("those in the environment need a restart")
	}
	return s.Secrets[i], nil
}

func (r *request) rotateSecret() error {
	v, err := r.secret()
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(r.c.FormValue("reason"))
	if reason == "" || len(reason) > ui.MaxReason {
		return r.showRotateSecret(http.StatusUnprocessableEntity, r.t("Say why, in at most %d characters: the audit log keeps it.", ui.MaxReason))
	}
	err = r.s.App.System.RotateSecret(r.ctx, app.SecretChange{Meta: r.meta(), Name: v.Name, Reason: reason})
	if problem, ok := r.refused(err); ok {
		return r.showRotateSecret(http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	return r.to("/settings/secrets")
}
