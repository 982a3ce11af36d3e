package view

import "github.com/kairosd/kairosd/web/locale"

// limitWords name the limits of a run in forms.
var limitWords = map[string]string{"steps": locale.Mark("Most steps"), "duration": locale.Mark("Longest running time"), "tokens": locale.Mark("Most tokens"), "cost": locale.Mark("Highest cost")}
