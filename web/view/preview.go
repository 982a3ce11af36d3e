package view

// PreviewPage says what an act would do, before it is done.
type PreviewPage struct {
	Shell
	Action, Verb, Run, RunHref string
	Allowed                    bool
	Refusal, Suggestion        string
	Sentence                   string
	Groups                     []PreviewGroup
	Effects                    []string
	Post                       string
	Idem, Rev, Digest          string
	Danger                     bool
	Reason                     bool
	Error                      string
	Points                     []Option
	Versions                   []Option
	Input                      *EditField
	Changes                    []Block // what edits change
	Mend                       bool    // the error is about what was typed
	Edits                      []EditField
	Check                      string
	Limits                     bool
	LimitValues                map[string]string
}

// PreviewGroup is a list of steps with one fate.
type PreviewGroup struct {
	Title string
	Steps []string
	Note  string
}

// Option is a choice of a select.
type Option struct {
	Value, Text string
	Selected    bool
}

// EditField is a kept output that a fork may replace.
type EditField struct {
	Name, Value, Was string
	Wrong            string // why it cannot be used
	Edited           bool
}
