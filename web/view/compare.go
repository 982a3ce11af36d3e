package view

// Checkpoint is a moment of a run whose state can be looked at.
type Checkpoint struct {
	Link
	Change string // what it added
}

// StateView is the values that a run knew at a checkpoint.
type StateView struct {
	Checkpoints []Checkpoint
	Hidden      string // how many are not listed
	Heading     string
	Blocks      []Block
	Fork        string // address of a fork from here; empty: not allowed
}

// HandoffRow is work passing from one agent to another.
type HandoffRow struct {
	At                              Time
	From, To, Step, Reason, Context string
	Href                            string
}

// ComparePage is two runs side by side.
type ComparePage struct {
	Shell
	A, B  CompareSide
	First string // the first difference, in words
	Facts []CompareRow
	Steps []CompareRow
}

// CompareSide is one of them.
type CompareSide struct {
	Run    Link
	Status Status
}

// CompareRow is one thing of both.
type CompareRow struct {
	Name, A, B string
	HrefA      string
	HrefB      string
	Differs    bool
	First      bool
	StatusA    Status
	StatusB    Status
}

// DiffPage is two versions of a plan.
type DiffPage struct {
	Shell
	Plan, PlanHref  string
	A, B            string
	Lines           []DiffLine
	Added, Removed  int
	Swap            string
	Same            bool
	VersionA, LinkB string
}

// DiffLine is a line of a difference; Sign is "+", "-" or blank, and "…" where
// lines that are the same are left out.
type DiffLine struct{ Sign, Text, Class string }

// ArchivePage asks before a plan is archived or taken back.
type ArchivePage struct {
	Shell
	Heading, Says, Post, Back, Idem, Error string
	Archived                               bool
}

// AuditForm is what the audit log is filtered by.
type AuditForm struct {
	Actor, Action, Object, Run, Result, Since string
}
