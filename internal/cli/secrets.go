package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
// (ruling 40). Which secrets there are does not change; the value of one that is
// in a file can be taken up anew.
type secrets struct {
	of map[string]config.Secret
	// readable are the secrets whose file others on this machine may read: that is
	// how containers mount them, so it is said and not refused (O10).
	readable []string

	rotating sync.Mutex
	now      atomic.Pointer[secretValues]
}

// secretValues are the values of a moment.
type secretValues struct {
	of     map[string]string
	taken  map[string]time.Time // when each was read
	masked [][]byte             // longest first; those of before too: they are in what is stored
}

var _ engine.Secrets = (*secrets)(nil)

// minSecret is the shortest value that can be told from ordinary text.
const minSecret = 4

// newSecrets reads the secrets of a configuration. Values that are given to MCP
// servers are masked too, although no plan can refer to them.
func newSecrets(cfg config.Config) (*secrets, error) {
	s := &secrets{of: cfg.Secrets}
	v := &secretValues{of: map[string]string{}, taken: map[string]time.Time{}}
	for name, c := range cfg.Secrets {
		value, err := readSecret(name, c)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(c.File); c.File != "" && err == nil && info.Mode().Perm()&0o004 != 0 {
			s.readable = append(s.readable, name)
		}
		v.take(name, value)
	}
	for _, server := range cfg.MCP.Servers {
		for _, value := range server.Confidential() {
			if len(value) >= minSecret {
				v.mask(value)
			}
		}
	}
	v.order()
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
	v := &secretValues{of: maps.Clone(old.of), taken: maps.Clone(old.taken), masked: slices.Clone(old.masked)}
	v.take(name, value)
	v.order()
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

func (v *secretValues) take(name, value string) {
	v.of[name], v.taken[name] = value, time.Now().UTC()
	v.mask(value)
}

// order lets the longest value be masked first: one may be a part of another.
func (v *secretValues) order() {
	slices.SortFunc(v.masked, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	v.masked = slices.CompactFunc(v.masked, bytes.Equal)
}

// mask adds every form that the value takes in what is stored: as it is, inside
// JSON, inside an address, and encoded as credentials are.
func (v *secretValues) mask(value string) {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value))}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	for _, html := range []bool{true, false} {
		plain.Reset()
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil {
			forms = append(forms, strings.Trim(strings.TrimSuffix(plain.String(), "\n"), `"`))
		}
	}
	for _, f := range forms {
		v.masked = append(v.masked, []byte(f))
	}
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

// Mask replaces every secret value by dots.
func (s *secrets) Mask(text []byte) []byte {
	for _, m := range s.now.Load().masked {
		if bytes.Contains(text, m) {
			text = bytes.ReplaceAll(text, m, []byte("••••"))
		}
	}
	return text
}

// logger masks everything that is logged.
func (s *secrets) logger(l *slog.Logger) *slog.Logger {
	if len(s.now.Load().masked) == 0 {
		return l
	}
	return slog.New(maskedLog{l.Handler(), s})
}

// maskedLog is a log handler in front of which secrets are masked.
type maskedLog struct {
	slog.Handler
	s *secrets
}

func (h maskedLog) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h maskedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return maskedLog{h.Handler.WithAttrs(masked), h.s}
}

func (h maskedLog) WithGroup(name string) slog.Handler {
	return maskedLog{h.Handler.WithGroup(name), h.s}
}

func (h maskedLog) text(s string) string { return string(h.s.Mask([]byte(s))) }

func (h maskedLog) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.text(v.String()))
	case slog.KindAny:
		// Whatever it is, its text is what would be read.
		text := fmt.Sprint(v.Any())
		if masked := h.text(text); masked != text {
			return slog.String(a.Key, masked)
		}
	case slog.KindGroup:
		group := make([]any, 0, len(v.Group()))
		for _, g := range v.Group() {
			group = append(group, h.attr(g))
		}
		return slog.Group(a.Key, group...)
	}
	return a
}
