package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/notify"
)

// Notifications configures which events are sent, and where.
type Notifications struct {
	// URL is the address of the dashboard for people, for links in messages.
	URL string `yaml:"url"`
	// AllowPrivate lists the private addresses that receivers may have.
	AllowPrivate []string                       `yaml:"allow_private"`
	Channels     map[string]NotificationChannel `yaml:"channels"`
}

// NotificationChannel configures one channel of notifications.
type NotificationChannel struct {
	Type string `yaml:"type"` // webhook or email
	// On lists the events to send. The default is failed, approval, in_doubt, quarantined, system.
	On []string `yaml:"on"`
	// Plans restricts the channel to these plans. If it is absent, there is no restriction.
	Plans []string `yaml:"plans"`

	// The webhook's address, or its source if it is a secret, and the source of the secret that
	// signs messages.
	URL        string `yaml:"url"`
	URLEnv     string `yaml:"url_env"`
	URLFile    string `yaml:"url_file"`
	SecretEnv  string `yaml:"secret_env"`
	SecretFile string `yaml:"secret_file"`

	// SMTP is the mail server, as host:port. TLS is starttls (default), tls, or none.
	SMTP         string   `yaml:"smtp"`
	TLS          string   `yaml:"tls"`
	Username     string   `yaml:"username"`
	PasswordEnv  string   `yaml:"password_env"`
	PasswordFile string   `yaml:"password_file"`
	From         string   `yaml:"from"`
	To           []string `yaml:"to"`
}

func (n Notifications) check() error {
	var errs []error
	if n.URL != "" {
		if err := webAddress(n.URL); err != nil {
			errs = append(errs, fmt.Errorf("url: %w", err))
		}
	}
	for name, c := range n.Channels {
		if err := c.check(); err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (c NotificationChannel) check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, kind := range c.On {
		if !slices.Contains(notify.Kinds, kind) {
			add("on: unknown event %q (known: %s)", kind, strings.Join(notify.Kinds, ", "))
		}
	}
	one := func(name string, values ...string) {
		if n := len(slices.DeleteFunc(values, func(s string) bool { return s == "" })); n != 1 {
			add("exactly one of %s is needed", name)
		}
	}
	switch c.Type {
	case "webhook":
		one("url, url_env and url_file", c.URL, c.URLEnv, c.URLFile)
		if c.URL != "" {
			if err := anyAddress(c.URL); err != nil {
				add("url: %w", err)
			}
		}
		if c.SecretEnv != "" && c.SecretFile != "" {
			add("only one of secret_env and secret_file")
		}
	case "email":
		host, _, err := net.SplitHostPort(c.SMTP)
		if err != nil {
			add("smtp: %q is not host:port", c.SMTP)
		}
		ip, _ := netip.ParseAddr(host)
		switch c.TLS {
		case "", "starttls", "tls":
		case "none":
			if host != "localhost" && !ip.IsLoopback() {
				add("tls: none is for a mail server on this machine")
			}
		default:
			add("tls: %q is not starttls, tls or none", c.TLS)
		}
		if c.Username != "" {
			one("password_env and password_file", c.PasswordEnv, c.PasswordFile)
		}
		if len(c.To) == 0 {
			add("to is missing")
		}
		for _, a := range append([]string{c.From}, c.To...) {
			if p, err := mail.ParseAddress(a); err != nil || p.Address != a {
				add("%q is not an e-mail address", a)
			}
		}
	default:
		add("type %q is neither webhook nor email", c.Type)
	}
	return errors.Join(errs...)
}

// anyAddress also accepts http, because the network guard decides where a message may go.
func anyAddress(s string) error {
	if strings.HasPrefix(s, "http://") {
		s = "https://" + strings.TrimPrefix(s, "http://")
	}
	host, query, _ := strings.Cut(s, "?")
	_ = query // receivers may require a query
	return webAddress(host)
}

// Build reads the secrets and returns the channels by name.
func (n Notifications) Build() ([]notify.Channel, error) {
	var out []notify.Channel
	for name, c := range n.Channels {
		ch := notify.Channel{Name: name, On: c.On, Plans: c.Plans}
		read := func(what, env, file string) (string, error) {
			v := os.Getenv(env)
			if file != "" {
				b, err := os.ReadFile(file)
				if err != nil {
					return "", domain.Errorf(domain.CodeInvalid, "notifications: the %s of %s: %w", what, name, err)
				}
				v = strings.TrimRight(string(b), "\r\n")
			}
			if v == "" && env+file != "" {
				return "", domain.Errorf(domain.CodeInvalid, "notifications: the %s of %s is empty", what, name).
					Suggest("set the environment variable or fill the file that the configuration names")
			}
			return v, nil
		}
		if c.Type == "webhook" {
			w := &notify.Webhook{URL: c.URL}
			var err error
			if c.URL == "" {
				if w.URL, err = read("address", c.URLEnv, c.URLFile); err != nil {
					return nil, err
				}
				if anyAddress(w.URL) != nil {
					return nil, domain.Errorf(domain.CodeInvalid, "notifications: the address of %s is none", name)
				}
			}
			if w.Secret, err = read("secret", c.SecretEnv, c.SecretFile); err != nil {
				return nil, err
			}
			ch.Webhook = w
		} else {
			password, err := read("password", c.PasswordEnv, c.PasswordFile)
			if err != nil {
				return nil, err
			}
			ch.Email = &notify.Email{Server: c.SMTP, TLS: c.TLS, Username: c.Username, Password: password, From: c.From, To: c.To}
		}
		out = append(out, ch)
	}
	slices.SortFunc(out, func(a, b notify.Channel) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Ports returns the ports of mail servers, which the network guard would otherwise block.
func (n Notifications) Ports() []int {
	var out []int
	for _, c := range n.Channels {
		if _, port, err := net.SplitHostPort(c.SMTP); err == nil {
			if p, err := net.LookupPort("tcp", port); err == nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// resolve makes paths relative to the configuration file.
func (n *Notifications) resolve(abs func(string) string) {
	for name, c := range n.Channels {
		c.URLFile, c.SecretFile, c.PasswordFile = abs(c.URLFile), abs(c.SecretFile), abs(c.PasswordFile)
		n.Channels[name] = c
	}
}

// Files returns the files that contain secrets of channels.
func (n Notifications) Files() []string {
	var out []string
	for _, c := range n.Channels {
		out = append(out, c.URLFile, c.SecretFile, c.PasswordFile)
	}
	return out
}
