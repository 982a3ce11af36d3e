package failure

import (
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// AckPage asks for a note about what failed.
type AckPage struct {
	kit.Shell
	Heading, Text, Button, Post   string
	Plan, Node, Code, Fingerprint string
	Headline                      string // of the newest run
	Idem, Error                   string
	Back                          bool
	Crumb                         kit.Link // where it leads back to; empty: home
	Note                          string
	CanResume                     bool // at a time
	NoAck                         bool // there is nothing to acknowledge
	At, Zone                      string
	Groups                        []AckGroup // several at once
	NoteOnly                      string     // the button that keeps the note and acknowledges nothing; empty: there is none
}

// AckGroup is a failure among several.
type AckGroup struct{ Ref, Text, Detail string }

// localTime is how browsers write the value of a datetime-local field.
const localTime = "2006-01-02T15:04"

// ResumeLater offers that what is acknowledged is resumed at a time.
func (p *AckPage) ResumeLater(c *ui.Context) {
	p.CanResume, p.At, p.Zone = !p.NoAck && !p.Back, c.Field("at"), c.Display.Zone.String()
}

// ResumeAt is when an acknowledged run is resumed; zero: not automatically.
func ResumeAt(c *ui.Context) (time.Time, error) {
	text := strings.TrimSpace(c.Field("at"))
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(localTime, text, c.Display.Zone)
	if err != nil {
		return at, domain.Errorf(domain.CodeInvalid, "%q is not a time", text).Suggest("use the format 2030-01-31T08:00")
	}
	if at.Before(c.Site.Now()) {
		return at, domain.Errorf(domain.CodeInvalid, "%s is past", text).Suggest("resume the run now, or enter a time in the future")
	}
	return at, nil
}
