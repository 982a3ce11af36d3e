package settings

import (
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/config"
)

// AccessPage is the model of the page about login methods and sessions.
type AccessPage struct {
	kit.Shell
	Source   string
	Settings []config.Row
}

// SecretsPage is the model of the secret list. It contains no values.
type SecretsPage struct {
	kit.Shell
	Source  string
	Secrets []SecretRow
}

// SecretRow is a row of the secret list.
type SecretRow struct {
	Name, Source, Tools, Hosts string
	Plain                      bool // plans may refer to it
	Changed, Taken             kit.Time
	Age                        string // since the file was written
	Pending                    bool   // the file is newer than the loaded value
	Rotate                     string // address of the form that reloads the value; empty if that requires a restart
	Uses                       []kit.Link
}

// RotateSecretPage is the model of the form that reloads a secret.
type RotateSecretPage struct {
	kit.Shell
	Idem, Error, Source, Action, Question string
	Changed, Taken                        kit.Time
	Pending                               bool
	Uses                                  []kit.Link
}

// RetentionPage is the model of the page about retention rules, with a preview of what they would
// delete now.
type RetentionPage struct {
	kit.Shell
	Source, Idem, Error, Every, Audit, MaxSize, Would string
	Rules                                             []RetentionRow
	Plans                                             []RetainedRow
	CanRun                                            bool
}

// RetentionRow is a retention rule. Plan is empty for the rule that applies to all other plans.
type RetentionRow struct{ Plan, Completed, Failed, Cancelled, Keep string }

// RetainedRow is the preview of what retention would delete of a plan.
type RetainedRow struct{ Plan, Href, Reason, Runs, Rows string }

// NotificationsPage is the model of the page about notifications.
type NotificationsPage struct {
	kit.Shell
	Source   string
	Channels []ChannelView
}

// ChannelView is a notification channel. Test is the address of the form that sends a test message.
type ChannelView struct {
	ID, Name, Type, Target, On, Plans, Idem, Test string
	Signed                                        bool
	Last                                          []DeliveryRow
}

// DeliveryRow is a sent or pending message.
type DeliveryRow struct {
	ID, Kind, State, Attempts, Error, More string
	Bad                                    bool
	Created, Due                           kit.Time
}
