package domain

import (
	"encoding/json"
	"time"
)

// AttemptLog is the log of an attempt, in the form of [Entry.Log].
type AttemptLog struct {
	Lines []LogLine `json:"lines,omitempty"`
	// Dropped is the number of lines above the limit of an attempt.
	Dropped  int       `json:"dropped,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
}

// LogLine is a line of a log.
type LogLine struct {
	At      time.Time `json:"at"`
	Level   string    `json:"level"`
	Message string    `json:"message"`
}

// Progress is the progress that an attempt reports. Total is 0 if it is not known.
type Progress struct {
	Done    int64  `json:"done"`
	Total   int64  `json:"total"`
	Message string `json:"message,omitempty"`
}

// ReadLog decodes [Entry.Log]. It returns an empty log on an error, because the page is useful
// without the log.
func ReadLog(raw RawJSON) AttemptLog {
	var l AttemptLog
	if len(raw) == 0 || json.Unmarshal(raw, &l) != nil {
		return AttemptLog{}
	}
	return l
}
