package web

import (
	"github.com/kairosd/kairosd/web/ui"
)

// deeds are the acts of pages without a folder of their own after which a page says
// what was done.
var deeds = []ui.Done{}
