package run

import "github.com/kairosd/kairosd/web/locale"

// Limits are the names of a run's limits.
var Limits = map[string]string{
	"steps":    locale.Mark("Most steps"),
	"duration": locale.Mark("Longest running time"),
	"tokens":   locale.Mark("Most tokens"),
	"cost":     locale.Mark("Highest cost"),
}
