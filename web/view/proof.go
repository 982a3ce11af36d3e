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
