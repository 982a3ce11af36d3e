package account

import "github.com/kairosd/kairosd/web/kit"

// HiddenField is a field that a form carries along.
type HiddenField struct{ Name, Value string }

// ProofPage asks who is there before an act, with what was posted in it.
type ProofPage struct {
	kit.Shell
	Post, Name, Error      string
	Fields                 []HiddenField
	Password, Code         bool
	Provider, ProviderHref string // empty: the password proves it
}
