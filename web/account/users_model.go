package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// UsersPage lists who may log in.
type UsersPage struct {
	kit.Shell
	list
	Users             []UserRow
	Idem, Error, Name string
	Roles             []kit.Option
}

// UserRow is a user in the list.
type UserRow struct {
	Name, Href, Role, Sessions string
	Second                     string // whether they have a second factor
	Disabled, Linked           bool
	Created, Seen              kit.Time
}

// UserPage is one user with what can be done to them.
type UserPage struct {
	kit.Shell
	Idem, Error, Name, Action, Role string
	Roles                           []kit.Option
	Disabled, Self, HasPassword     bool
	Second                          string // whether they have a second factor
	CanTakeSecond                   bool
	Created, Seen                   kit.Time
	// Provider is the identity provider's name; Subject and Issuer identify this user there; each empty:
	// none.
	Provider, Subject, Issuer string
	Sessions                  []SessionRow
}

// SessionRow is an open login.
type SessionRow struct {
	ID, Agent, Address string
	Created, Seen      kit.Time
	Current            bool
}

// TokensPage lists API tokens; Made is the text of a new one, shown once.
type TokensPage struct {
	kit.Shell
	list
	Tokens                          []TokenRow
	Idem, Error, Name, Created, Try string
	Roles, Lifetimes                []kit.Option
	Scopes                          []string
}

// TokenRow is a token in the list; Href revokes it.
type TokenRow struct {
	ID, Name, Prefix, Role, Scopes, By, Href string
	From, Log                                string // the address of the last use, if the log contains it
	Created, Expires, Used, Revoked          kit.Time
	Live, Ended                              bool
}

// RevokeTokenPage asks before a token ends.
type RevokeTokenPage struct {
	kit.Shell
	Idem, Error, Prefix, By, Action, Question, Verb string
	Used                                            kit.Time
	From                                            string // the address of the last use
	Ended                                           bool   // it is not valid any more
}

// MePage is the reader's own.
type MePage struct {
	kit.Shell
	Begins                  string // the query that the run list opens with
	Views                   []kit.Option
	Idem, Error, Name, Role string
	HasPassword             bool
	Second                  string // whether they have a second factor
	ZoneSet                 string
	ZoneError               bool
	Sessions                []SessionRow
}
