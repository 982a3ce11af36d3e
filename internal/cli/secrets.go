package cli

import (
	"errors"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/tool"
)

// secrets resolves ${secret.NAME} for the tools and hosts that each secret
// names, and masks their values in everything that is stored, sent or logged
// (ruling 40). Which secrets there are is for a configuration to say, and another
// one has others; the value of one that is in a file can be taken up anew.
type secrets struct {
	of map[string]config.Secret
	*masks
	// readable are the secrets whose file others on this machine may read: that is
	// how containers mount them, so it is said and not refused (O10).
	readable []string

	rotating sync.Mutex
	now      atomic.Pointer[secretValues]
}

// secretValues are the values of a moment.
type secretValues struct {
	of    map[string]string
	taken map[string]time.Time // when each was read
}

var _ engine.Secrets = (*secrets)(nil)

// minSecret is the shortest value that can be told from ordinary text.
const minSecret = 4

// newSecrets reads the secrets of a configuration. Values that are given to MCP
// servers are masked too, although no plan can refer to them.
func newSecrets(cfg config.Config) (*secrets, error) { return newSecretsIn(&masks{}, cfg) }

// newSecretsIn is newSecrets where other values are masked already.
func newSecretsIn(m *masks, cfg config.Config) (*secrets, error) {
	s := &secrets{of: cfg.Secrets, masks: m}
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
	s.now.Store(v)
	return s, nil
}

// readSecret reads a value from where the configuration says it is.
func readSecret(name string, c config.Secret) (string, error) {
	value := ""
	if c.File != "" {
		b, err := os.ReadFile(c.File)
		if err != nil {
			return "", kairos.Errorf(kairos.CodeInvalid, "secret %s: %w", name, err)
		}
		value = strings.TrimRight(string(b), "\r\n")
	} else {
		value = os.Getenv(c.Env)
	}
	if value == "" {
		return "", kairos.Errorf(kairos.CodeInvalid, "secret %s is empty", name).Suggest("set the environment variable or fill the file that the configuration names")
	}
	if len(value) < minSecret {
		return "", kairos.Errorf(kairos.CodeInvalid, "secret %s has fewer than %d characters and could not be masked", name, minSecret)
	}
	return value, nil
}

// rotate takes up what a secret's file holds now; calls that are under way keep
// the value that they were given. CodeConflict if it holds what it held before,
// or if the secret is in the environment, which no running process sees change.
func (s *secrets) rotate(name string) error {
	c, ok := s.of[name]
	switch {
	case !ok:
		return kairos.Errorf(kairos.CodeNotFound, "there is no secret %.64q", name)
	case c.File == "":
		return kairos.Errorf(kairos.CodeConflict, "the secret %s is in the environment, which a running process cannot read again", name).Suggest("set the variable and restart kairosd, or keep the secret in a file")
	}
	s.rotating.Lock()
	defer s.rotating.Unlock()
	value, err := readSecret(name, c)
	if err != nil {
		return err
	}
	old := s.now.Load()
	if old.of[name] == value {
		return kairos.Errorf(kairos.CodeConflict, "the file of the secret %s holds the value that is in use", name).Suggest("write the new value into %s first", c.File)
	}
	v := &secretValues{of: maps.Clone(old.of), taken: maps.Clone(old.taken)}
	v.of[name], v.taken[name] = value, time.Now().UTC()
	s.add(name, value) // before anybody is given it
	s.now.Store(v)
	return nil
}

// rotateAll is rotate for every secret whose file holds another value, and names
// them; what cannot be read keeps its value.
func (s *secrets) rotateAll() (changed []string, failed error) {
	for _, name := range sortedKeys(s.of) {
		if s.of[name].File == "" {
			continue
		}
		switch err := s.rotate(name); kairos.CodeOf(err) {
		case "":
			changed = append(changed, name)
		case kairos.CodeConflict:
		default:
			failed = errors.Join(failed, err)
		}
	}
	return changed, failed
}

// takenAt is when the value that is in use was read.
func (s *secrets) takenAt(name string) time.Time { return s.now.Load().taken[name] }

// changedSince names the secrets that the other ones have too, with another value.
func (s *secrets) changedSince(before *secrets) (changed []string) {
	old, now := before.now.Load().of, s.now.Load().of
	for _, name := range sortedKeys(now) {
		if was, known := old[name]; known && was != now[name] {
			changed = append(changed, name)
		}
	}
	return changed
}

// Secret gives a secret to a call of a tool that it names; a secret without
// tools is given to none. A secret that names hosts is given only to calls that
// go to one of them.
func (s *secrets) Secret(name, toolName string, input any) (string, bool) {
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
		return strings.EqualFold(host, u.Host) || strings.EqualFold(host, u.Hostname()) && (u.Port() == "" || u.Port() == "443" && u.Scheme == "https" || u.Port() == "80" && u.Scheme == "http")
	})
}
