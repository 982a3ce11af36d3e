package assemble

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/tool"
)

// Secrets resolves ${secret.NAME} for the tools and hosts that each secret names, and masks the
// values in everything that is stored, sent, or logged. Each configuration has its own secrets. A
// value from a file can be read again while kairosd runs.
type Secrets struct {
	of map[string]config.Secret
	*Masks
	// readable lists the secrets whose file other users of this machine can read. Containers mount
	// them that way, so kairosd warns and does not reject them.
	readable []string

	rotating sync.Mutex
	now      atomic.Pointer[secretValues]
}

// secretValues are the values at one time.
type secretValues struct {
	of    map[string]string
	taken map[string]time.Time // the time at which each was read
}

var _ engine.Secrets = (*Secrets)(nil)

// minSecret is the minimum length of a secret that can be distinguished from ordinary text.
const minSecret = 4

// newSecrets reads the secrets of a configuration. It also masks values that are passed to MCP
// servers, although no plan can refer to them.
func newSecrets(cfg config.Config) (*Secrets, error) { return NewSecretsIn(&Masks{}, cfg) }

// NewSecretsIn is newSecrets with masks that already contain other values.
func NewSecretsIn(m *Masks, cfg config.Config) (*Secrets, error) {
	s := &Secrets{of: cfg.Secrets, Masks: m}
	v := &secretValues{of: map[string]string{}, taken: map[string]time.Time{}}
	for name, c := range cfg.Secrets {
		value, err := readSecret(name, c)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(c.File); c.File != "" && err == nil && info.Mode().Perm()&0o004 != 0 {
			s.readable = append(s.readable, name)
		}
		v.of[name], v.taken[name] = value, time.Now().UTC()
		m.add(name, value)
	}
	for _, server := range cfg.MCP.Servers {
		for variable, value := range server.Confidential() {
			if len(value) >= minSecret {
				m.add(variable, value)
			}
		}
	}
	for name, value := range confidential(cfg) {
		if len(value) >= minSecret {
			m.add(name, value)
		}
	}
	s.now.Store(v)
	return s, nil
}

// confidential returns the configured secret values other than the secrets of plans: keys of
// providers, of the identity provider, and of channels. The component that needs a value reports it
// if it cannot be read.
func confidential(cfg config.Config) map[string]string {
	out := map[string]string{}
	for name, p := range cfg.Providers {
		if key, err := apiKey(p); err == nil && p.Type != "offline" && p.Type != "scripted" {
			out["providers."+name+".api_key"] = key
		}
	}
	if o := cfg.Login.OIDC; o != nil && o.ClientSecretEnv+o.ClientSecretFile != "" {
		if secret, err := o.Secret(); err == nil {
			out["login.oidc.client_secret"] = secret
		}
	}
	if keys, err := cfg.Engine.Temporal.PayloadKeys(); err == nil {
		for i, key := range keys {
			out[fmt.Sprintf("engine.temporal.payload_key.%d", i)] = string(key)
		}
	}
	channels, err := cfg.Notifications.Build()
	if err != nil {
		return out
	}
	for _, c := range channels {
		prefix := "notifications." + c.Name
		if c.Webhook != nil {
			out[prefix+".secret"] = c.Webhook.Secret
			if cfg.Notifications.Channels[c.Name].URL == "" {
				out[prefix+".url"] = c.Webhook.URL
			}
		}
		if c.Email != nil {
			out[prefix+".password"] = c.Email.Password
		}
	}
	return out
}

// readSecret reads a value from its configured source.
func readSecret(name string, c config.Secret) (string, error) {
	value := ""
	if c.File != "" {
		b, err := os.ReadFile(c.File)
		if err != nil {
			return "", domain.Errorf(domain.CodeInvalid, "secret %s: %w", name, err)
		}
		value = strings.TrimRight(string(b), "\r\n")
	} else {
		value = os.Getenv(c.Env)
	}
	if value == "" {
		return "", domain.Errorf(domain.CodeInvalid, "secret %s is empty", name).
			Suggest("set the environment variable or fill the file that the configuration names")
	}
	if len(value) < minSecret {
		return "", domain.Errorf(domain.CodeInvalid, "secret %s has fewer than %d characters, too few to mask it", name, minSecret)
	}
	return value, nil
}

// Rotate reads the file of a secret again. Active calls keep the value that they received. The
// error is CodeConflict if the value has not changed, or if the secret is in the environment, which
// a running process cannot read again.
func (s *Secrets) Rotate(name string) (changed bool, err error) {
	c, ok := s.of[name]
	switch {
	case !ok:
		return false, domain.Errorf(domain.CodeNotFound, "secret %.64q not found", name)
	case c.File == "":
		return false, domain.Errorf(domain.CodeConflict,
			"secret %s comes from the environment, which a running process cannot read again", name).
			Suggest("set the variable and restart kairosd, or keep the secret in a file")
	}
	s.rotating.Lock()
	defer s.rotating.Unlock()
	value, err := readSecret(name, c)
	old := s.now.Load()
	if err != nil || old.of[name] == value {
		return false, err
	}
	v := &secretValues{of: maps.Clone(old.of), taken: maps.Clone(old.taken)}
	v.of[name], v.taken[name] = value, time.Now().UTC()
	s.add(name, value) // mask it before any call receives it
	s.now.Store(v)
	return true, nil
}

// RotateAll rotates every secret whose file contains another value, and returns their names. A
// secret that cannot be read keeps its value.
func (s *Secrets) RotateAll() (changed []string, failed error) {
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		if s.of[name].File == "" {
			continue
		}
		rotated, err := s.Rotate(name)
		if rotated {
			changed = append(changed, name)
		}
		failed = errors.Join(failed, err)
	}
	return changed, failed
}

// TakenAt returns the time at which the current value was read.
func (s *Secrets) TakenAt(name string) time.Time { return s.now.Load().taken[name] }

// ChangedSince returns the names of secrets that both have, with different values.
func (s *Secrets) ChangedSince(before *Secrets) (changed []string) {
	old, now := before.now.Load().of, s.now.Load().of
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, known := old[name]; known && was != now[name] {
			changed = append(changed, name)
		}
	}
	return changed
}

// Secret returns a secret for a call of one of its tools. A secret without tools is returned for no
// call. A secret with hosts is returned only for calls to one of them.
func (s *Secrets) Secret(name, toolName string, input any) (string, bool) {
	v, ok := s.now.Load().of[name]
	c := s.of[name]
	if !ok || !slices.Contains(c.Tools, toolName) {
		return "", false
	}
	if len(c.Hosts) == 0 {
		return v, true
	}
	args, _ := tool.Arguments(input).(map[string]any)
	text, _ := args["url"].(string)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", false
	}
	return v, slices.ContainsFunc(c.Hosts, func(host string) bool {
		return strings.EqualFold(host, u.Host) ||
			strings.EqualFold(host, u.Hostname()) &&
				(u.Port() == "" || u.Port() == "443" && u.Scheme == "https" || u.Port() == "80" && u.Scheme == "http")
	})
}

// ForHook returns a secret that hooks may use.
func (s *Secrets) ForHook(name string) (string, bool) {
	v, ok := s.now.Load().of[name]
	return v, ok && s.of[name].Hooks
}
