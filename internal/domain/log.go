package domain

import (
	"encoding/json"
	"time"
)

// AttemptLog is what an attempt has logged: the form of [Entry.Log].
type AttemptLog struct {
	Lines []LogLine `json:"lines,omitempty"`
	// Dropped counts the lines beyond what is kept of one attempt.
	Dropped  int       `json:"dropped,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
}

// LogLine is one line of it.
type LogLine struct {
	At      time.Time `json:"at"`
	Level   string    `json:"level"`
	Message string    `json:"message"`
}

// Progress is how far an attempt reports that it has come; Total may be 0.
type Progress struct {
	Done    int64  `json:"done"`
	Total   int64  `json:"total"`
	Message string `json:"message,omitempty"`
}

// ReadLog reads [Entry.Log]. What cannot be read is an empty log: a log is not
// worth a page.
func ReadLog(raw RawJSON) AttemptLog {
	var l AttemptLog
	if len(raw) == 0 || json.Unmarshal(raw, &l) != nil {
		return AttemptLog{}
	}
	return l
}
