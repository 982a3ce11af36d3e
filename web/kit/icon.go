package kit

import (
	"sync"

	"github.com/kairosd/kairosd/web/static"
)

// sprite returns the prefix of icon addresses. All icons are in one file, which browsers cache.
var sprite = sync.OnceValue(func() string { return static.Path("icons.svg") + "#" })

// IconHref returns the address of an icon, such as "i-fail".
func IconHref(id string) string { return sprite() + id }
