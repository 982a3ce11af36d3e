package account

import "github.com/kairosd/kairosd/web/kit"

// HiddenField is a hidden form field that keeps a posted value.
type HiddenField struct{ Name, Value string }

// ProofPage is the model of the form that confirms the user's identity before an action.
type ProofPage struct {
	kit.Shell
	Post, Name, Error      string
	Fields                 []HiddenField
	Password, Code         bool
	Provider, ProviderHref string // empty if a password or code proves the identity
}
