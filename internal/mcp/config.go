package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/walk"
)

// Server configures one server: a command, or an address.
type Server struct {
	// Command is an absolute path and its arguments. It is run only with Allow.
	Command []string `yaml:"command"`
	// Allow grants the command.
	Allow bool `yaml:"allow"`
	// Env is the command's environment, besides a PATH of the system's own
	// directories; EnvFrom names variables of kairosd's environment that it is
	// given too. Nothing else is inherited.
	Env     map[string]string `yaml:"env"`
	EnvFrom []string          `yaml:"env_from"`
	// Dir is the command's working directory. Default: /.
	Dir string `yaml:"dir"`
	// URL is the address of a server that is reached by streamable HTTP.
	URL string `yaml:"url"`
	// HeadersFrom names, for headers of every request to URL, the variables of
	// kairosd's environment that hold their values.
	HeadersFrom map[string]string `yaml:"headers_from"`
	// Tools limits what is offered to these of the server's tools. Default: all.
	Tools []string `yaml:"tools"`
	// TrustAnnotations takes the server's readOnlyHint and idempotentHint for
	// effects; without it every tool is unsafe. Effects, by tool, count before.
	TrustAnnotations bool                   `yaml:"trust_annotations"`
	Effects          map[string]walk.Effect `yaml:"effects"`
	// Timeout bounds one call. Default 60s.
	Timeout time.Duration `yaml:"timeout"`
	// StartTimeout bounds the time from start to the list of tools. Default 10s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	// MaxBytes bounds the result of one call. Default 1 MiB.
	MaxBytes int `yaml:"max_bytes"`
}

// Bounds of what a server may send (M19, M21).
const (
	maxResult        = 1 << 20
	maxTools         = 256
	maxFrame         = 4 << 20
	maxDefinition    = 64 << 10
	maxNotifications = 10_000 // between two answers
	maxStray         = 10     // answers that nobody asked for (M20)
)

var serverName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// Check reports everything that is wrong with the configuration of a server.
func (s Server) Check(name string) error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("mcp.servers.%s: "+format, append([]any{name}, args...)...))
	}
	if !serverName.MatchString(name) {
		add("a name is letters, digits, _ and -, at most 64")
	}
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		add("exactly one of command and url is needed")
	case len(s.Command) > 0:
		if len(s.HeadersFrom) > 0 {
			add("headers_from is for a url")
		}
	default:
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			add("url %q is not an http or https address without user information", s.URL)
		}
		if len(s.Env) > 0 || len(s.EnvFrom) > 0 || s.Dir != "" {
			add("env, env_from and dir are for a command")
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Effects)) {
		switch s.Effects[tool] {
		case walk.EffectPure, walk.EffectRead, walk.EffectIdempotent, walk.EffectUnsafe:
		default:
			add("effects.%s: %q is not pure, read, idempotent or unsafe", tool, s.Effects[tool])
		}
	}
	for _, variable := range slices.Concat(s.EnvFrom, slices.Collect(maps.Keys(s.Env))) {
		if variable == "" || strings.ContainsAny(variable, "=\x00") {
			add("%q is not the name of a variable", variable)
		}
	}
	if s.Timeout < 0 || s.StartTimeout < 0 || s.MaxBytes < 0 {
		add("limits must not be negative")
	}
	return errors.Join(errs...)
}

// granted says why a command is not run, nil if it may be. It is no
// mistake of the configuration: a server may be written down before it is granted.
func (s Server) granted() error {
	switch {
	case s.URL != "":
		return nil
	case !s.Allow:
		return errors.New("its command would run with all that kairosd may do: grant it with allow: true")
	case !filepath.IsAbs(s.Command[0]) || filepath.Clean(s.Command[0]) != s.Command[0]:
		return fmt.Errorf("its command %q is not a clean absolute path", s.Command[0])
	}
	return nil
}

func (s Server) withDefaults() Server {
	s.Timeout = cmp.Or(s.Timeout, time.Minute)
	s.StartTimeout = cmp.Or(s.StartTimeout, 10*time.Second)
	s.MaxBytes = cmp.Or(s.MaxBytes, maxResult)
	return s
}

// Confidential are the values that the server is given and nobody else should read, by
// the variables that hold them: they are masked in everything that is stored.
func (s Server) Confidential() map[string]string {
	values := map[string]string{}
	for _, name := range slices.Concat(s.EnvFrom, slices.Collect(maps.Values(s.HeadersFrom))) {
		if v := os.Getenv(name); v != "" {
			values[name] = v
		}
	}
	return values
}

// environment is all that a command sees of ours.
func (s Server) environment() []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	for _, name := range s.EnvFrom {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
