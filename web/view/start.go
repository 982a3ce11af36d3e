package view

// StartPage is the form that starts a run.
type StartPage struct {
	Shell
	Plan, Version string
	Post, Idem    string
	Fields        []Field
	Input         string
	Error         string
	Problems      []string
	Missing       []Link // fields that are missing or do not fit
	CLI, Curl     string
	Number        string // of the version
	Versions      []Link
	Labels        string
	Priority      string
	Like          Link     // the run whose input it begins with
	Effects       []string // steps that cannot be undone or repeated
	Dry, Offline  bool
	Paused        string // since when, by whom and why no run of the plan starts
}
