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

// Source explains where settings are changed.
func Source(c *ui.Context, s domain.Settings) string {
	if s.File == "" {
		return c.T("No configuration file. Using defaults. To use one, start kairosd with --config FILE.")
	}
	return c.T("Set in %s, which kairosd reads when it starts.", kit.Visible(s.File))
}

var originWords = map[string]string{
	"file":         locale.Mark("the file"),
	"default":      locale.Mark("default"),
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
