package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// LoginCodePage is the model of the form for the code of the second factor.
type LoginCodePage struct {
	kit.Shell
	Ticket, Next, Error string
}

// SecondFactorPage is the model of the page of the user's second factor.
type SecondFactorPage struct {
	kit.Shell
	Must                 bool // the role requires it; other pages are blocked
	Idem, Error          string
	On, HasPassword      bool
	Left                 string
	Secret, Spelled, URI string
	Picture              string // SVG path of the QR code
	Size                 int
	Codes                []string // recovery codes, shown once
}
