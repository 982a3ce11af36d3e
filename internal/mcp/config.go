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
	// Command is an absolute path and its arguments. It runs only with Allow.
	Command []string `yaml:"command"`
	// Allow permits the command.
	Allow bool `yaml:"allow"`
	// Env is the environment of the command, in addition to a PATH of system directories. EnvFrom
	// names variables of kairosd's environment to pass on. Nothing else is inherited.
	Env     map[string]string `yaml:"env"`
	EnvFrom []string          `yaml:"env_from"`
	// Dir is the command's working directory. The default is /.
	Dir string `yaml:"dir"`
	// URL is the address of a server that uses streamable HTTP.
	URL string `yaml:"url"`
	// HeadersFrom maps headers of every request to URL to the environment variables that contain
	// their values.
	HeadersFrom map[string]string `yaml:"headers_from"`
	// Tools limits which tools of the server are offered. The default is all.
	Tools []string `yaml:"tools"`
	// TrustAnnotations derives side-effect classes from the server's readOnlyHint and
	// idempotentHint; without it every tool is unsafe. Effects, by tool, takes precedence.
	TrustAnnotations bool                   `yaml:"trust_annotations"`
	Effects          map[string]walk.Effect `yaml:"effects"`
	// Timeout limits one call. The default is 60s.
	Timeout time.Duration `yaml:"timeout"`
	// StartTimeout limits the time from the start to the list of tools. The default is 10s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	// MaxBytes limits the result of one call. The default is 1 MiB.
	MaxBytes int `yaml:"max_bytes"`
}

// Limits of what a server may send between two responses, so that a flood ends its connection and
// not kairosd.
const (
	maxResult        = 1 << 20
	maxTools         = 256
	maxFrame         = 4 << 20
	maxDefinition    = 64 << 10
	maxNotifications = 10_000 // between two responses
	maxStray         = 10     // responses without a request
)

var serverName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// Check returns an error that lists everything wrong with the configuration of a server.
func (s Server) Check(name string) error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("mcp.servers.%s: "+format, append([]any{name}, args...)...))
	}
	if !serverName.MatchString(name) {
		add("invalid name: use at most 64 letters, digits, _, and -")
	}
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		add("set exactly one of command and url")
	case len(s.Command) > 0:
		if len(s.HeadersFrom) > 0 {
			add("headers_from requires url")
		}
	default:
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			add("invalid url %q: use http or https, without user information", s.URL)
		}
		if len(s.Env) > 0 || len(s.EnvFrom) > 0 || s.Dir != "" {
			add("env, env_from, and dir require command")
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(s.Effects)) {
		switch s.Effects[tool] {
		case walk.EffectPure, walk.EffectRead, walk.EffectIdempotent, walk.EffectUnsafe:
		default:
			add("effects.%s: invalid value %q: use pure, read, idempotent, or unsafe", tool, s.Effects[tool])
		}
	}
	for _, variable := range slices.Concat(s.EnvFrom, slices.Collect(maps.Keys(s.Env))) {
		if variable == "" || strings.ContainsAny(variable, "=\x00") {
			add("invalid variable name %q", variable)
		}
	}
	if s.Timeout < 0 || s.StartTimeout < 0 || s.MaxBytes < 0 {
		add("limits must not be negative")
	}
	return errors.Join(errs...)
}

// granted returns the reason why a command may not run, or nil. This is not an error of the
// configuration, because a server may be configured before it is allowed.
func (s Server) granted() error {
	switch {
	case s.URL != "":
		return nil
	case !s.Allow:
		return errors.New("its command runs with all permissions of kairosd; grant it with allow: true")
	case !filepath.IsAbs(s.Command[0]) || filepath.Clean(s.Command[0]) != s.Command[0]:
		return fmt.Errorf("command %q is not a clean absolute path", s.Command[0])
	}
	return nil
}

func (s Server) withDefaults() Server {
	s.Timeout = cmp.Or(s.Timeout, time.Minute)
	s.StartTimeout = cmp.Or(s.StartTimeout, 10*time.Second)
	s.MaxBytes = cmp.Or(s.MaxBytes, maxResult)
	return s
}

// Confidential returns the secret values that the server receives, by variable. They are masked in
// everything that is stored.
func (s Server) Confidential() map[string]string {
	values := map[string]string{}
	for _, name := range slices.Concat(s.EnvFrom, slices.Collect(maps.Values(s.HeadersFrom))) {
		if v := os.Getenv(name); v != "" {
			values[name] = v
		}
	}
	return values
}

// environment returns the complete environment of the command.
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
