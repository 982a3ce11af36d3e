package kit

import "net/http"

// ErrorPage shows what happened and what still works.
type ErrorPage struct {
	Shell
	Code        int
	Headline    string
	Explanation string // what it means, where the message is not in the reader's language
	Message     string
	Suggestion  string
	Wait        string // for how long to wait before trying again; empty: unknown
	ID          string
	Details     string // what to send to the person in charge; empty: nothing
	Links       []Link
	Lists       []Link // where to continue
	Again       string // address to try again; empty: that does not help
	// Similar is what may have been meant, under a title.
	SimilarTitle string
	Similar      []Link
	Part         bool // it is shown over a page that has its own heading
}

// mark is the shape and color of its role.
func (p ErrorPage) mark() Status {
	if p.role() == "bad" {
		return Status{Key: "fail", Icon: "i-fail"}
	}
	return Status{Key: "need", Icon: "i-need"}
}

// role is the class of the note: a fault of kairosd is a failure, a refused request needs another one.
func (p ErrorPage) role() string {
	if p.Code >= http.StatusInternalServerError {
		return "bad"
	}
	return "need"
}
