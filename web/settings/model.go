package settings

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/config"
)

// AccessPage shows how people and programs come in.
type AccessPage struct {
	kit.Shell
	Source   string
	Settings []config.Row
}

// SecretsPage lists secrets by name, never by value.
type SecretsPage struct {
	kit.Shell
	Source  string
	Secrets []SecretRow
}

// SecretRow is a secret in the list.
type SecretRow struct {
	Name, Source, Tools, Hosts string
	Plain                      bool // plans may refer to it
	Changed, Taken             kit.Time
	Age                        string // since the file was written
	Pending                    bool   // the file was written since it was read
	Rotate                     string // loads the file's value; empty: a restart does
	Uses                       []kit.Link
}

// RotateSecretPage confirms that a new value is loaded.
type RotateSecretPage struct {
	kit.Shell
	Idem, Error, Source, Action, Question string
	Changed, Taken                        kit.Time
	Pending                               bool
	Uses                                  []kit.Link
}

// RetentionPage shows what is kept for how long, and what would go now.
type RetentionPage struct {
	kit.Shell
	Source, Idem, Error, Every, Audit, MaxSize, Would string
	Rules                                             []RetentionRow
	Plans                                             []RetainedRow
	CanRun                                            bool
}

// RetentionRow is a rule; an empty plan means all others.
type RetentionRow struct{ Plan, Completed, Failed, Cancelled, Keep string }

// RetainedRow is what would go of a plan.
type RetainedRow struct{ Plan, Href, Reason, Runs, Rows string }

// NotificationsPage shows who gets which notifications.
type NotificationsPage struct {
	kit.Shell
	Source   string
	Channels []ChannelView
}

// ChannelView is one way to tell people; Test is where its form goes.
type ChannelView struct {
	ID, Name, Type, Target, On, Plans, Idem, Test string
	Signed                                        bool
	Last                                          []DeliveryRow
}

// DeliveryRow is a message that was sent or waits.
type DeliveryRow struct {
	ID, Kind, State, Attempts, Error, More string
	Bad                                    bool
	Created, Due                           kit.Time
}
