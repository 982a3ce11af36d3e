package kit

import "net/http"

// ErrorPage describes an error and the ways to continue.
type ErrorPage struct {
	Shell
	Code        int
	Headline    string
	Explanation string // meaning of the error, if Message is not in the reader's language
	Message     string
	Suggestion  string
	RetryAfter  string // when to try again; empty if unknown
	ID          string
	Details     string // details to send to the administrator; may be empty
	Links       []Link
	Lists       []Link // pages to continue with
	RetryHref   string // address to try again; empty if retrying does not help
	// Similar links to objects with similar names.
	SimilarTitle string
	Similar      []Link
	Part         bool // shown on a page that has its own heading
}

// mark returns the icon and color of the error.
func (p ErrorPage) mark() Status {
	if p.role() == "bad" {
		return Status{Key: "fail", Icon: "i-fail"}
	}
	return Status{Key: "need", Icon: "i-need"}
}

// role returns the class of the note: "bad" for a failure of kairosd, "need" for a rejected
// request.
func (p ErrorPage) role() string {
	if p.Code >= http.StatusInternalServerError {
		return "bad"
	}
	return "need"
}
