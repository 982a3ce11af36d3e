package run

import "github.com/kairosd/kairosd/web/locale"

// Limits name the limits of a run.
var Limits = map[string]string{
	"steps":    locale.Mark("Most steps"),
	"duration": locale.Mark("Longest running time"),
	"tokens":   locale.Mark("Most tokens"),
	"cost":     locale.Mark("Highest cost"),
}
