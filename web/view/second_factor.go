package view

// Hidden is a field that a form carries along.
type Hidden struct{ Name, Value string }

// ProofPage asks who is there before an act, with what was posted in it.
type ProofPage struct {
	Shell
	Post, Name, Error      string
	Fields                 []Hidden
	Password, Code         bool
	Provider, ProviderHref string // empty: the password proves it
}

// LoginCodePage asks for the code of a second factor.
type LoginCodePage struct {
	Shell
	Ticket, Next, Error string
}

// SecondFactorPage turns a second factor on or off.
type SecondFactorPage struct {
	Shell
	Must                 bool // nothing else is shown until it is on
	Idem, Error          string
	On, HasPassword      bool
	Left                 string
	Secret, Spelled, URI string
	Picture              string // a path of dark squares
	Size                 int
	Codes                []string // recovery codes, shown once
}
