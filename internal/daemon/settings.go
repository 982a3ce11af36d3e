package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/store"
)

// settings shows the configuration without secrets, and tests channels and providers.
type settings struct {
	now    func() *runtime // the active one
	file   string
	listen listenAddress
	data   string
	notify *notify.Service
	system *system
	store  *store.Store
}

// lastMessages is the number of messages of a channel that are listed.
const lastMessages = 20

// Settings returns the configuration.
func (s *settings) Settings(ctx context.Context) (domain.Settings, error) {
	out := domain.Settings{File: s.file, Access: s.access(), Effective: s.effective(), Retention: s.retention()}
	var err error
	if out.Secrets, err = s.secrets(ctx); err != nil {
		return out, err
	}
	out.Notifications, err = s.notify.Channels(ctx, lastMessages)
	return out, err
}

// TestChannel sends a test message immediately.
func (s *settings) TestChannel(ctx context.Context, actor domain.Actor, channel string) (domain.Delivery, error) {
	return s.notify.Test(ctx, actor, channel)
}

func (s *settings) access() []domain.Setting {
	var out []domain.Setting
	add := func(key, value, standard string) {
		origin := "file"
		if value == "" {
			value, origin = standard, "default"
		}
		out = append(out, domain.Setting{Key: key, Value: value, Origin: origin})
	}
	yes := func(b *bool) string {
		if b == nil {
			return ""
		}
		return fmt.Sprint(*b)
	}
	c := s.now().cfg
	out = append(out, domain.Setting{Key: "--listen", Value: s.listen.address, Origin: s.listen.origin})
	add("server.hosts", strings.Join(c.Server.Hosts, ", "), "its own address")
	add("server.tls_cert", c.Server.TLSCert, "HTTP without TLS")
	add("server.trusted_proxies", strings.Join(c.Server.TrustedProxies, ", "), "none")
	out = append(
		out,
		domain.Setting{
			Key: "sessions",
			Value: fmt.Sprintf("%.0f min without a request, %.0f h in all", auth.DefaultIdleTimeout.Minutes(),
				auth.DefaultSessionLifetime.Hours()),
			Origin: "default",
		},
	)
	add("approvals.separate", map[bool]string{true: "true"}[c.Approvals.Separate], "false")
	add("login.password", yes(c.Login.Password), "true")
	add("login.second_factor", strings.Join(c.Login.SecondFactor, ", "), "optional")
	if o := c.Login.OIDC; o != nil {
		secret := "none (public client)"
		if o.ClientSecretEnv != "" {
			secret = "from the environment variable " + o.ClientSecretEnv
		} else if o.ClientSecretFile != "" {
			secret = "from the file " + o.ClientSecretFile
		}
		add("login.oidc.issuer", o.Issuer, "")
		add("login.oidc.client_id", o.ClientID, "")
		add("login.oidc.client_secret", secret, "")
		add("login.oidc.redirect_url", o.RedirectURL, "the address used by the browser")
		add("login.oidc.scopes", strings.Join(o.Scopes, " "), "profile")
		add("login.oidc.name_claim", o.NameClaim, "preferred_username")
		add("login.oidc.role_claim", o.RoleClaim, "groups")
		for _, group := range slices.Sorted(maps.Keys(o.Roles)) {
			add("login.oidc.roles."+group, string(o.Roles[group]), "")
		}
		add(
			"login.oidc.default_role",
			string(o.DefaultRole),
			map[bool]string{true: "none (login is refused)", false: "viewer"}[len(o.Roles) > 0],
		)
		add("login.oidc.allowed_groups", strings.Join(o.AllowedGroups, ", "), "all")
		add("login.oidc.create_users", yes(o.CreateUsers), "true")
	} else {
		add("login.oidc", "", "none")
	}
	return out
}

func (s *settings) retention() domain.RetentionSettings {
	c := s.now().cfg.Retention
	age := func(text string) domain.Millis { return domain.Millis(mustAge(text)) }
	size, err := config.Size(c.MaxSize)
	if err != nil { // the configuration was checked
		size = 0
	}
	out := domain.RetentionSettings{Audit: age(c.Audit), MaxSize: size, Every: cmp.Or(age(c.Every), domain.Millis(time.Hour))}
	row := func(plan string, r config.RetentionRule) {
		out.Rules = append(
			out.Rules,
			domain.RetentionRow{Plan: plan, Completed: age(r.Completed), Failed: age(r.Failed), Cancelled: age(r.Cancelled), Keep: r.Keep},
		)
	}
	row("", c.RetentionRule)
	for _, plan := range slices.Sorted(maps.Keys(c.Plans)) {
		row(plan, c.Plans[plan])
	}
	return out
}

// standards contains the defaults of settings that the configuration does not set.
var standards = []domain.Setting{
	{Key: "approvals.separate", Value: "false"},
	{Key: "approvals.timeout", Value: "none (calls wait)"},
	{Key: "backup.dir", Value: "backups in the data directory"},
	{Key: "backup.every", Value: "1d, keeping 7 backups"},
	{Key: "backup.recipients", Value: "none (backups are not encrypted)"},
	{Key: "default_agent", Value: "the first selectable agent"},
	{Key: "default_provider", Value: "the only provider, else offline"},
	{Key: "engine.backend", Value: "sqlite"},
	{Key: "engine.max_nodes", Value: "256"},
	{Key: "engine.max_running", Value: "64"},
	{Key: "login.oidc", Value: "none"},
	{Key: "login.password", Value: "true"},
	{Key: "login.second_factor", Value: "optional"},
	{Key: "planner.max_replans", Value: "2"},
	{Key: "planner.mode", Value: "auto"},
	{Key: "retention.every", Value: "1h"},
	{Key: "retention.max_size", Value: "no limit"},
	{Key: "server.hosts", Value: "its own address"},
	{Key: "server.socket_mode", Value: "0600"},
	{Key: "server.tls_cert", Value: "HTTP without TLS"},
	{Key: "server.trusted_proxies", Value: "none"},
}

// effective lists all settings of the file, and the default of each setting that it does not have.
func (s *settings) effective() []domain.Setting {
	mask := func(text string) string {
		if s.system == nil || s.system.mask == nil {
			return text
		}
		return string(s.system.mask([]byte(text)))
	}
	out := []domain.Setting{{Key: "--listen", Value: s.listen.address, Origin: s.listen.origin}}
	if s.data != "" {
		out = append(out, domain.Setting{Key: "--data", Value: s.data, Origin: "command line"})
	}
	set := map[string]bool{}
	for _, n := range s.now().cfg.Named {
		origin := "file"
		if strings.HasSuffix(n.Key, "_env") || strings.HasSuffix(n.Key, ".env") && strings.HasPrefix(n.Key, "secrets.") {
			origin = "environment"
			if os.Getenv(n.Value) == "" {
				n.Value += " (not set)"
			}
		}
		out = append(out, domain.Setting{Key: n.Key, Value: mask(n.Value), Origin: origin})
		for key := n.Key; key != ""; key, _, _ = cutLast(key) {
			set[key] = true
		}
	}
	for _, d := range standards {
		if !set[d.Key] {
			d.Origin = "default"
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out[1:], func(a, b domain.Setting) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// cutLast splits a key at its last dot.
func cutLast(key string) (before, after string, found bool) {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return "", key, false
}
