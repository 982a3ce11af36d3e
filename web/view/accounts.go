package view

// UsersPage lists who may log in.
type UsersPage struct {
	Shell
	Users             []UserRow
	Idem, Error, Name string
	Roles             []Option
}

// UserRow is a user in the list.
type UserRow struct {
	Name, Href, Role, Sessions string
	Second                     string // whether they have a second factor
	Disabled, Linked           bool
	Created, Seen              Time
}

// UserPage is one user with what can be done to them.
type UserPage struct {
	Shell
	Idem, Error, Name, Action, Role string
	Roles                           []Option
	Disabled, Self, HasPassword     bool
	Second                          string // whether they have a second factor
	CanTakeSecond                   bool
	Created, Seen                   Time
	// Provider is the identity provider's name, Subject and Issuer whom it knows
	// this user as; each empty: none.
	Provider, Subject, Issuer string
	Sessions                  []SessionRow
}

// SessionRow is an open login.
type SessionRow struct {
	ID, Agent, Address string
	Created, Seen      Time
	This               bool
}

// TokensPage lists API tokens; Made is the text of a new one, shown once.
type TokensPage struct {
	Shell
	Tokens                       []TokenRow
	Idem, Error, Name, Made, Try string
	Roles, Lifetimes             []Option
	Scopes                       []string
}

// TokenRow is a token in the list; Href revokes it.
type TokenRow struct {
	ID, Name, Prefix, Role, Scopes, By, Href string
	From, Log                                string // the address of the last use; where the log tells of it
	Created, Expires, Used, Revoked          Time
	Live, Over                               bool
}

// RevokeTokenPage asks before a token ends.
type RevokeTokenPage struct {
	Shell
	Idem, Error, Prefix, By, Action, Question, Verb string
	Used                                            Time
	From                                            string // the address of the last use
	Over                                            bool   // it is not valid any more
}

// MePage is the reader's own.
type MePage struct {
	Shell
	Memory                  bool   // there is a page about it
	Begins                  string // the query that the run list opens with
	Views                   []Option
	Idem, Error, Name, Role string
	HasPassword             bool
	Second                  string // whether they have a second factor
	ZoneSet                 string
	ZoneError               bool
	Sessions                []SessionRow
}
