package settings

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/config"
	"github.com/kairosd/kairosd/web/ui"
)

// useWords are labels for parts of the configuration that use a secret, by kind.
var useWords = map[string]string{
	"provider": locale.Mark("provider %s"), "mcp": locale.Mark("tool server %s"), "channel": locale.Mark("notifications %s"),
	"login": locale.Mark("the identity provider"), "telemetry": locale.Mark("telemetry"),
}

// secretSettings serves the secret list: the source, the age, and the uses of each secret. It never
// contains a value.
func (s *section) secretSettings(c *ui.Context) error {
	set, err := s.configured(c)
	if err != nil {
		return err
	}
	p := SecretsPage{Shell: c.Shell("settings", "Secrets"), Source: config.Source(c, set)}
	for _, v := range set.Secrets {
		p.Secrets = append(p.Secrets, s.secretRow(c, v))
	}
	return c.Render(http.StatusOK, Secrets(p))
}

func (s *section) secretRow(c *ui.Context, v domain.SecretInfo) SecretRow {
	row := SecretRow{
		Name:    kit.Escape(v.Name),
		Source:  kit.Escape(v.Source),
		Tools:   kit.Escape(strings.Join(v.Tools, ", ")),
		Hosts:   kit.Escape(strings.Join(v.Hosts, ", ")),
		Plain:   v.Rotates || len(v.Tools) > 0 || len(v.UsedBy) == 0,
		Changed: c.Time(v.ChangedAt),
		Taken:   c.Time(v.LoadedAt),
		Pending: v.Pending,
	}
	if !v.ChangedAt.IsZero() {
		row.Age = c.Ago(c.Site.Now().Sub(v.ChangedAt))
	}
	if v.Rotates {
		row.Rotate = "/settings/secrets/" + url.PathEscape(v.Name) + "/rotate"
	}
	row.Uses = s.secretUses(c, v)
	return row
}

// secretUses returns links to the plans and the parts of the configuration that use a secret.
func (s *section) secretUses(c *ui.Context, v domain.SecretInfo) []kit.Link {
	var out []kit.Link
	for _, u := range v.UsedBy {
		l := kit.Link{Text: c.T(useWords[u.Kind])}
		switch u.Kind {
		case "provider":
			l = kit.Link{Text: c.T("provider %s", kit.Escape(u.Name)), Href: "/agents/providers/" + url.PathEscape(u.Name)}
		case "mcp":
			l = kit.Link{Text: c.T("tool server %s", kit.Escape(u.Name)), Href: "/agents/servers"}
		case "channel":
			l = kit.Link{Text: c.T("notifications %s", kit.Escape(u.Name)), Href: "/settings/notifications"}
		case "login":
			l.Href = "/settings/access"
		}
		out = append(out, l)
	}
	for _, plan := range v.Plans {
		out = append(out, kit.Link{Text: c.T("plan %s", kit.Escape(plan)), Href: "/plans/" + url.PathEscape(plan)})
	}
	if len(v.Plans) >= domain.MaxSecretPlans {
		out = append(out, kit.Link{Text: c.T("all plans that name it"), Href: "/plans?" + url.Values{"q": {"secret:" + v.Name}}.Encode()})
	}
	return out
}

// rotateSecretPage serves the confirmation page for reloading a secret.
func (s *section) rotateSecretPage(c *ui.Context) error {
	return s.showRotateSecret(c, http.StatusOK, "")
}

func (s *section) showRotateSecret(c *ui.Context, code int, problem string) error {
	v, err := s.secret(c)
	if err != nil {
		return err
	}
	p := RotateSecretPage{
		Shell:   c.Shell("settings", "Secrets"),
		Idem:    kit.NewID(),
		Error:   problem,
		Source:  kit.Escape(v.Source),
		Changed: c.Time(v.ChangedAt),
		Taken:   c.Time(v.LoadedAt),
		Pending: v.Pending,
		Action: "/settings/secrets/" + url.PathEscape(
			v.Name,
		) + "/rotate",
		Question: c.T("Load the new value of %s?", kit.Escape(v.Name)),
		Uses:     s.secretUses(c, v),
	}
	p.Title = p.Question
	return c.Render(code, RotateSecret(p))
}

// secret returns the secret in the address. It must be one whose value can be reloaded.
func (s *section) secret(c *ui.Context) (domain.SecretInfo, error) {
	set, err := s.configured(c)
	if err != nil {
		return domain.SecretInfo{}, err
	}
	i := slices.IndexFunc(set.Secrets, func(v domain.SecretInfo) bool { return v.Rotates && v.Name == c.Param("secret") })
	if i < 0 {
		return domain.SecretInfo{}, domain.Errorf(domain.CodeNotFound, "there is no secret of this name in a file").
			Suggest("those in the environment need a restart")
	}
	return set.Secrets[i], nil
}

func (s *section) rotateSecret(c *ui.Context) error {
	v, err := s.secret(c)
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(c.Field("reason"))
	if reason == "" || len(reason) > ui.MaxReason {
		return s.showRotateSecret(c, http.StatusUnprocessableEntity,
			c.T("Enter a reason of at most %d characters. The audit log keeps it.", ui.MaxReason))
	}
	now, err := s.App.System.RotateSecret(c, app.SecretChange{Meta: c.Meta(), Name: v.Name, Reason: reason})
	if problem, ok := c.Refused(err); ok {
		return s.showRotateSecret(c, http.StatusUnprocessableEntity, problem)
	}
	if err != nil {
		return err
	}
	if now.LoadedAt.Equal(v.LoadedAt) {
		return s.showRotateSecret(c, http.StatusUnprocessableEntity,
			c.T("The file has not changed since kairosd read it. Write the new value to the file first."))
	}
	return c.RedirectTo("/settings/secrets")
}
