package view

// AccessPage shows how people and programs come in.
type AccessPage struct {
	Shell
	Source   string
	Settings []SettingRow
}

// SettingRow is one value of the configuration.
type SettingRow struct{ Key, Value, Origin string }

// SecretsPage lists secrets by name, never by value.
type SecretsPage struct {
	Shell
	Source  string
	Secrets []SecretRow
}

// SecretRow is a secret in the list.
type SecretRow struct {
	Name, Source, Tools, Hosts string
	Plain                      bool // plans may refer to it
	Changed, Taken             Time
	Age                        string // since the file was written
	Pending                    bool   // the file was written since it was read
	Rotate                     string // takes up the file's value; empty: a restart does
	Uses                       []Link
}

// RotateSecretPage asks before a new value is taken up.
type RotateSecretPage struct {
	Shell
	Idem, Error, Source, Action, Question string
	Changed, Taken                        Time
	Pending                               bool
	Uses                                  []Link
}

// RetentionPage shows what is kept for how long, and what would go now.
type RetentionPage struct {
	Shell
	Source, Idem, Error, Every, Audit, MaxSize, Would string
	Rules                                             []RetentionRow
	Plans                                             []RetainedRow
	CanRun                                            bool
}

// RetentionRow is a rule; an empty plan means all others.
type RetentionRow struct{ Plan, Completed, Failed, Cancelled, Keep string }

// RetainedRow is what would go of a plan.
type RetainedRow struct{ Plan, Href, Reason, Runs, Rows string }

// NotificationsPage shows who is told of what.
type NotificationsPage struct {
	Shell
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
	Created, Due                           Time
}
