package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/tool"
)

// secrets resolves ${secret.NAME} for the tools and hosts that each secret
// names, and masks their values in everything that is stored, sent or logged
// (ruling 40). It does not change after it was made.
type secrets struct {
	values map[string]string
	of     map[string]config.Secret
	masked [][]byte // longest first
	// readable are the secrets whose file others on this machine may read: that is
	// how containers mount them, so it is said and not refused (O10).
	readable []string
}

var _ engine.Secrets = (*secrets)(nil)

// minSecret is the shortest value that can be told from ordinary text.
const minSecret = 4

// newSecrets reads the secrets of a configuration. Values that are given to MCP
// servers are masked too, although no plan can refer to them.
func newSecrets(cfg config.Config) (*secrets, error) {
	s := &secrets{values: map[string]string{}, of: cfg.Secrets}
	for name, c := range cfg.Secrets {
		value := ""
		if c.File != "" {
			b, err := os.ReadFile(c.File)
			if err != nil {
				return nil, kairos.Errorf(kairos.CodeInvalid, "secret %s: %w", name, err)
			}
			value = strings.TrimRight(string(b), "\r\n")
			if info, err := os.Stat(c.File); err == nil && info.Mode().Perm()&0o004 != 0 {
				s.readable = append(s.readable, name)
			}
		} else {
			value = os.Getenv(c.Env)
		}
		if value == "" {
			return nil, kairos.Errorf(kairos.CodeInvalid, "secret %s is empty", name).Suggest("set the environment variable or fill the file that the configuration names")
		}
		if len(value) < minSecret {
			return nil, kairos.Errorf(kairos.CodeInvalid, "secret %s has fewer than %d characters and could not be masked", name, minSecret)
		}
		s.values[name] = value
		s.mask(value)
	}
	for _, server := range cfg.MCP.Servers {
		for _, value := range server.Confidential() {
			if len(value) >= minSecret {
				s.mask(value)
			}
		}
	}
	slices.SortFunc(s.masked, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	s.masked = slices.CompactFunc(s.masked, bytes.Equal)
	return s, nil
}

// mask adds every form that the value takes in what is stored: as it is, inside
// JSON, inside an address, and encoded as credentials are.
func (s *secrets) mask(value string) {
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
		s.masked = append(s.masked, []byte(f))
	}
}

// Secret gives a secret to a call of a tool that it names; a secret without
// tools is given to none. A secret that names hosts is given only to calls that
// go to one of them.
func (s *secrets) Secret(name, toolName string, input any) (string, bool) {
	v, ok := s.values[name]
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
	for _, m := range s.masked {
		if bytes.Contains(text, m) {
			text = bytes.ReplaceAll(text, m, []byte("••••"))
		}
	}
	return text
}

// logger masks everything that is logged.
func (s *secrets) logger(l *slog.Logger) *slog.Logger {
	if len(s.masked) == 0 {
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
