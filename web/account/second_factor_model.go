package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// LoginCodePage asks for the code of a second factor.
type LoginCodePage struct {
	kit.Shell
	Ticket, Next, Error string
}

// SecondFactorPage turns a second factor on or off.
type SecondFactorPage struct {
	kit.Shell
	Must                 bool // nothing else is shown until it is on
	Idem, Error          string
	On, HasPassword      bool
	Left                 string
	Secret, Spelled, URI string
	Picture              string // a path of dark squares
	Size                 int
	Codes                []string // recovery codes, shown once
}
