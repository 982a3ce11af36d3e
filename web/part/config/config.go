// Package config shows values of the configuration.
package config

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Row is one value of the configuration.
type Row struct{ Key, Value, Origin string }

// Source says where settings are changed.
func Source(c *ui.Context, s domain.Settings) string {
	if s.File == "" {
		return c.T("There is no configuration file: everything is as it comes. Start kairosd with --config FILE to change it.")
	}
	return c.T("Set in %s, which kairosd reads when it starts.", kit.Visible(s.File))
}

var originWords = map[string]string{
	"file":         locale.Mark("the file"),
	"default":      locale.Mark("as it comes"),
	"command line": locale.Mark("the command line"),
	"environment":  locale.Mark("the environment"),
}

// Rows are values as pages list them.
func Rows(c *ui.Context, values []domain.Setting) []Row {
	var out []Row
	for _, v := range values {
		out = append(out, Row{Key: kit.Visible(v.Key), Value: kit.Visible(v.Value), Origin: c.T(originWords[v.Origin])})
	}
	return out
}
