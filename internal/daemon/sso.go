package daemon

import (
	"cmp"
	"log/slog"
	"net/url"

	"github.com/kairosd/kairosd/internal/auth/oidc"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
)

// newIdentityProvider returns the identity provider of a configuration, or nil if there is none. It
// sends no request.
func newIdentityProvider(o *config.OIDC, log *slog.Logger) (*oidc.Provider, error) {
	if o == nil {
		return nil, nil
	}
	secret, err := o.Secret()
	if err != nil {
		return nil, err
	}
	label := o.Label
	if u, err := url.Parse(o.Issuer); label == "" && err == nil {
		label = u.Hostname()
	}
	scopes := o.Scopes
	if scopes == nil {
		scopes = []string{"profile"}
	}
	p, err := oidc.New(
		oidc.Config{
			Issuer:        o.Issuer,
			ClientID:      o.ClientID,
			ClientSecret:  secret,
			Redirect:      o.RedirectURL,
			Scopes:        scopes,
			Label:         cmp.Or(label, o.Issuer),
			NameClaim:     o.NameClaim,
			RoleClaim:     o.RoleClaim,
			Roles:         o.Roles,
			DefaultRole:   o.DefaultRole,
			AllowedGroups: o.AllowedGroups,
			CAFile:        o.CAFile,
			Log:           log,
		},
	)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "configuration: login: %w", err)
	}
	return p, nil
}
