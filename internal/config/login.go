package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// Login configures how people log in: with a password, or with an identity provider.
type Login struct {
	// Password: false disables password logins, and requires oidc. The setup link and kairosd user
	// login-link still work.
	Password *bool `yaml:"password"`
	OIDC     *OIDC `yaml:"oidc"`
	// SecondFactor lists the roles that require a second factor if the user has a password.
	// Stronger roles require it too. "all" means every role.
	SecondFactor []string `yaml:"second_factor"`
}

// MustHaveSecondFactor returns the roles of SecondFactor. The weakest role stands for all stronger
// ones.
func (l Login) MustHaveSecondFactor() []domain.Role {
	var out []domain.Role
	for _, name := range l.SecondFactor {
		if name == everybody {
			return []domain.Role{domain.RoleViewer}
		}
		out = append(out, domain.Role(name))
	}
	return out
}

// everybody is the word for all roles.
const everybody = "all"

// OIDC configures an OpenID Connect provider.
type OIDC struct {
	Issuer   string `yaml:"issuer"`
	ClientID string `yaml:"client_id"`
	// Source of the client secret; if both are empty, the client is public.
	ClientSecretEnv  string `yaml:"client_secret_env"`
	ClientSecretFile string `yaml:"client_secret_file"`
	// RedirectURL is the URL registered at the provider: https://HOST/login/oidc/callback. The
	// default is the address used by the browser.
	RedirectURL string `yaml:"redirect_url"`
	// Label is the name of the provider on the button. The default is the issuer's host.
	Label string `yaml:"label"`
	// Scopes in addition to openid. The default is profile.
	Scopes []string `yaml:"scopes"`
	// NameClaim is the claim with the name of a new user. The default is preferred_username.
	NameClaim string `yaml:"name_claim"`
	// RoleClaim is the claim with the groups. The default is groups. Dots lead into objects.
	RoleClaim string `yaml:"role_claim"`
	// Roles maps groups to roles at every login. If it is empty, roles are set in kairosd.
	Roles map[string]domain.Role `yaml:"roles"`
	// DefaultRole is the role of users without a mapped group. If it is empty, they are rejected if
	// there is a mapping, and new users are viewers if there is none.
	DefaultRole domain.Role `yaml:"default_role"`
	// AllowedGroups admits only members of one of these groups. Empty admits everyone.
	AllowedGroups []string `yaml:"allowed_groups"`
	// CreateUsers creates a user at the first login of a person. The default is true.
	CreateUsers *bool `yaml:"create_users"`
	// CAFile contains certificates to trust for the provider.
	CAFile string `yaml:"ca_file"`
}

// Issuer returns the identity provider that users are linked to, or "" without one.
func (l Login) Issuer() string {
	if l.OIDC == nil {
		return ""
	}
	return l.OIDC.Issuer
}

// Passwords reports whether people can log in with passwords.
func (l Login) Passwords() bool { return l.Password == nil || *l.Password }

func (l Login) check() error {
	for _, name := range l.SecondFactor {
		if name != everybody && !slices.Contains(domain.Roles, domain.Role(name)) {
			return fmt.Errorf("second_factor: %q is not viewer, operator, author, admin or all", name)
		}
	}
	if l.OIDC == nil {
		if !l.Passwords() {
			return errors.New("password: false requires oidc, because no one could log in otherwise")
		}
		return nil
	}
	return l.OIDC.check()
}

func (o *OIDC) check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf("oidc."+format, args...)) }
	if err := webAddress(o.Issuer); err != nil {
		add("issuer: %w", err)
	}
	if o.RedirectURL != "" {
		if err := webAddress(o.RedirectURL); err != nil {
			add("redirect_url: %w", err)
		} else if !strings.HasSuffix(o.RedirectURL, "/login/oidc/callback") {
			add("redirect_url: it must end in /login/oidc/callback")
		}
	}
	if o.ClientID == "" {
		add("client_id is missing")
	}
	if o.ClientSecretEnv != "" && o.ClientSecretFile != "" {
		add("client_secret_env and client_secret_file: only one of them")
	}
	for group, role := range o.Roles {
		if !slices.Contains(domain.Roles, role) {
			add("roles: %q of group %q is not viewer, operator, author or admin", role, group)
		}
	}
	if o.DefaultRole != "" && !slices.Contains(domain.Roles, o.DefaultRole) {
		add("default_role: %q is not viewer, operator, author or admin", o.DefaultRole)
	}
	return errors.Join(errs...)
}

// Secret reads the client secret from the configured source.
func (o *OIDC) Secret() (string, error) {
	secret := ""
	switch {
	case o.ClientSecretFile != "":
		b, err := os.ReadFile(o.ClientSecretFile)
		if err != nil {
			return "", domain.Errorf(domain.CodeInvalid, "login.oidc.client_secret_file: %w", err)
		}
		secret = strings.TrimRight(string(b), "\r\n")
	case o.ClientSecretEnv != "":
		secret = os.Getenv(o.ClientSecretEnv)
	default:
		return "", nil
	}
	if secret == "" {
		return "", domain.Errorf(domain.CodeInvalid, "the client secret of login.oidc is empty").
			Suggest("set the environment variable or fill the file that the configuration names")
	}
	return secret, nil
}

// webAddress accepts https URLs, and http URLs on this machine only.
func webAddress(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not an address like https://login.example.com", s)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%s must begin with https://", s)
	}
	return nil
}
