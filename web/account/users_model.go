package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// UsersPage is the model of the user list.
type UsersPage struct {
	kit.Shell
	list
	Users             []UserRow
	Idem, Error, Name string
	Roles             []kit.Option
}

// UserRow is a row of the user list.
type UserRow struct {
	Name, Href, Role, Sessions string
	Second                     string // state of the second factor
	Disabled, Linked           bool
	Created, Seen              kit.Time
}

// UserPage is the model of the page of a user.
type UserPage struct {
	kit.Shell
	Idem, Error, Name, Action, Role string
	Roles                           []kit.Option
	Disabled, Self, HasPassword     bool
	Second                          string // state of the second factor
	CanTakeSecond                   bool
	Created, Seen                   kit.Time
	// Provider is the name of the identity provider. Subject and Issuer identify the user there.
	// They are empty if the user is not linked.
	Provider, Subject, Issuer string
	Sessions                  []SessionRow
}

// SessionRow is an open session.
type SessionRow struct {
	ID, Agent, Address string
	Created, Seen      kit.Time
	Current            bool
}

// TokensPage is the model of the token list. Made is the text of a new token, which is shown only
// once.
type TokensPage struct {
	kit.Shell
	list
	Tokens                          []TokenRow
	Idem, Error, Name, Created, Try string
	Roles, Lifetimes                []kit.Option
	Scopes, PlanScopes              []string
}

// TokenRow is a row of the token list. Href is the form that revokes the token.
type TokenRow struct {
	ID, Name, Prefix, Role, Scopes, By, Href string
	From, Log                                string // address of the last use; link to its audit events
	Created, Expires, Used, Revoked          kit.Time
	Live, Ended                              bool
}

// RevokeTokenPage is the model of the form that revokes a token.
type RevokeTokenPage struct {
	kit.Shell
	Idem, Error, Prefix, By, Action, Question, Verb string
	Used                                            kit.Time
	From                                            string // address of the last use
	Ended                                           bool   // expired or revoked
}

// MePage is the model of the account page.
type MePage struct {
	kit.Shell
	Begins                  string // query that the run list opens with
	Views                   []kit.Option
	Idem, Error, Name, Role string
	HasPassword             bool
	Second                  string // state of the second factor
	ZoneSet                 string
	ZoneError               bool
	Sessions                []SessionRow
}
