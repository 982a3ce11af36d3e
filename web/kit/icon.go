package kit

import (
	"sync"

	"github.com/kairosd/kairosd/web/static"
)

// sprite is the address of the file that holds all icons; browsers cache it forever.
var sprite = sync.OnceValue(func() string { return static.Path("icons.svg") + "#" })

// IconHref is the address of an icon, such as i-fail.
func IconHref(id string) string { return sprite() + id }
