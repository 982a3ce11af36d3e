package cli

import (
	"bytes"
	"cmp"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/supervisor"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
)

// This file is the one place that knows every package: it builds an
// installation from its configuration.

// newRegistry offers the tools, agents and skills of a configuration. The guard
// holds what no tool may reach; nil: nothing beyond the built-in rules.
func newRegistry(cfg config.Config, guard *tool.Guard) (*handler.Registry, error) {
	tools, err := tool.Builtin(cfg.Tools, guard)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeInvalid, "configuration: %w", err)
	}
	r := handler.New(tools)
	m, err := newModels(cfg)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeInvalid, "configuration: %w", err)
	}
	r.SetModels(m)
	skills := map[string]planner.SkillInfo{}
	for _, s := range cfg.Skills {
		skills[s.ID] = planner.SkillInfo{Tool: s.Tool, Agent: s.Agent}
	}
	r.SetSkills(skills)
	return r, nil
}

// newEngine puts an engine on a store, and on the engine what makes plans for it.
func newEngine(s *store.Store, cfg config.Config, log *slog.Logger, o engine.Options, guard *tool.Guard) (*engine.Engine, *supervisor.Service, error) {
	if guard == nil {
		guard = &tool.Guard{}
	}
	guard.Files(s.Files()...)
	registry, err := newRegistry(cfg, guard)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := newSecrets(cfg.Secrets)
	if err != nil {
		return nil, nil, err
	}
	e, err := engine.New(engine.Config{Store: s, Registry: registry, Secrets: secrets, Logger: log, Options: o})
	if err != nil {
		return nil, nil, err
	}
	s.OnCommit(e.HandleCommit)
	return e, newAsker(e, registry.Models(), cfg), nil
}

// secrets resolves ${secret.NAME} for the tools that each secret names, and
// masks their values in everything that is stored (ruling 40).
type secrets struct {
	values map[string]string
	tools  map[string][]string
	masked [][]byte // longest first
}

func newSecrets(cfg map[string]config.Secret) (*secrets, error) {
	s := &secrets{values: map[string]string{}, tools: map[string][]string{}}
	for name, c := range cfg {
		value := ""
		if c.File != "" {
			b, err := os.ReadFile(c.File)
			if err != nil {
				return nil, kairos.Errorf(kairos.CodeInvalid, "secret %s: %w", name, err)
			}
			value = strings.TrimRight(string(b), "\r\n")
		} else {
			value = os.Getenv(c.Env)
		}
		if value == "" {
			return nil, kairos.Errorf(kairos.CodeInvalid, "secret %s is empty", name).Suggest("set the environment variable or fill the file that the configuration names")
		}
		s.values[name], s.tools[name] = value, c.Tools
		if len(value) >= 4 {
			s.masked = append(s.masked, []byte(value))
		}
	}
	slices.SortFunc(s.masked, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	return s, nil
}

// Secret gives a secret to a tool that it names; a secret without tools is given
// to none.
func (s *secrets) Secret(name, toolName string) (string, bool) {
	v, ok := s.values[name]
	return v, ok && slices.Contains(s.tools[name], toolName)
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
