package domain

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of signals.
const (
	// SignalLifetime is how long a signal that no step waits for is kept by default, and
	// MaxSignalLifetime is the maximum.
	SignalLifetime    = 24 * time.Hour
	MaxSignalLifetime = 30 * 24 * time.Hour
	// MaxEarlySignals and MaxEarlyBytes limit the signals that no step waits for yet.
	MaxEarlySignals = 10_000
	MaxEarlyBytes   = 64 << 20
	// MaxSignalData is the maximum size of the data of a signal.
	MaxSignalData = 256 << 10
	// MaxSignalName is the maximum length of a name or a key in bytes.
	MaxSignalName = 256
	// SignalRetention is how long settled signals are shown.
	SignalRetention = 30 * 24 * time.Hour
)

// SignalStatus is the status of a signal.
type SignalStatus string

const (
	SignalWaiting   SignalStatus = "waiting"   // no step waited for it yet
	SignalMatched   SignalStatus = "matched"   // it ended the wait of a step
	SignalUnmatched SignalStatus = "unmatched" // it expired
)

// SignalStatuses lists all values.
var SignalStatuses = []SignalStatus{SignalWaiting, SignalMatched, SignalUnmatched}

// Signal is a named signal that ends the waits of steps.
type Signal struct {
	ID string
	// A step waits for a name and a key. The key may be empty.
	Name, Key string
	Data      RawJSON
	// All makes the signal end all waits that are open or begin before it expires. Otherwise, it ends
	// one.
	All bool
	// Source is the interface that the signal came from, and Actor who sent it.
	Source, Actor        string
	Status               SignalStatus
	CreatedAt, ExpiresAt time.Time
	// Matches are the waits that it ended, oldest first.
	Matches []SignalMatch
}

// SignalMatch is the end of a wait.
type SignalMatch struct {
	Run, Node   string
	Visit, Item int
	At          time.Time
}

// SignalFilter selects signals. Zero fields do not restrict.
type SignalFilter struct {
	Text   string // part of the name
	Status SignalStatus
	Page   Page
}

// WaitFilter selects waits of steps for signals. Zero fields do not restrict.
type WaitFilter struct {
	Text string // part of the name
	Page Page
}

// SignalWait is the wait of a step for a signal.
type SignalWait struct {
	ID          string // also in the journal row of the wait
	Run         string
	Plan        string // key, in lists
	Name, Key   string
	Node        string
	Visit, Item int
	Since, Due  time.Time // Due is zero without a timeout
	// Ended ends the wait. Signal is the ID of the signal that ended it, or "".
	Ended  bool
	Signal string
}

// CheckSignalName returns an error if a name or a key of a signal is not valid.
func CheckSignalName(name, key string) error {
	bad := func(s string) bool {
		return len(s) > MaxSignalName || !utf8.ValidString(s) || s != strings.TrimSpace(s) || strings.ContainsFunc(s, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
		})
	}
	switch {
	case name == "":
		return Errorf(CodeInvalid, "the name of the signal is empty")
	case bad(name):
		return Errorf(CodeInvalid, "invalid name of a signal").
			Suggest("use at most %d bytes of printable characters, with no spaces at the ends", MaxSignalName)
	case bad(key):
		return Errorf(CodeInvalid, "invalid key of a signal").
			Suggest("use at most %d bytes of printable characters, with no spaces at the ends", MaxSignalName)
	}
	return nil
}

// TooManySignals returns the error of a signal above the limits of early signals.
func TooManySignals() error {
	err := Errorf(CodeTooMany, "too many signals are kept that no step waits for").
		Suggest("send signals later, or keep them for a shorter time")
	err.Reason = "signals.quota"
	return err
}
