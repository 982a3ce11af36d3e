// Package config shows values of the configuration.
package config

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Row is one value of the configuration.
type Row struct {
	Key, Value, Origin string
	Default            bool // not set by the user
}

// Source describes where to change settings.
func Source(c *ui.Context, s domain.Settings) string {
	if s.File == "" {
		return c.T("No configuration file. Using defaults. To use one, start kairosd with --config FILE.")
	}
	return c.T("kairosd reads %s at startup and on SIGHUP.", kit.Escape(s.File))
}

var originWords = map[string]string{
	"file":         locale.Mark("configuration file"),
	"default":      locale.Mark("default"),
	"command line": locale.Mark("command line"),
	"environment":  locale.Mark("environment variable"),
}

// Rows converts values to rows.
func Rows(c *ui.Context, values []domain.Setting) []Row {
	var out []Row
	for _, v := range values {
		out = append(
			out,
			Row{
				Key:     kit.Escape(v.Key),
				Value:   kit.Escape(v.Value),
				Origin:  c.T(originWords[v.Origin]),
				Default: v.Origin == "default",
			},
		)
	}
	return out
}
