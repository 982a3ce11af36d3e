package failure

import (
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// AckPage is the page that acknowledges failures with a note.
type AckPage struct {
	kit.Shell
	Heading, Text, Button, Post   string
	Plan, Node, Code, Fingerprint string
	Headline                      string // status message of the newest run
	Idem, Error                   string
	Back                          bool
	Crumb                         kit.Link // parent page, or empty for home
	Note                          string
	CanResume                     bool // offers to resume the run at a time
	NoAck                         bool // nothing to acknowledge
	At, Zone                      string
	Groups                        []AckGroup // failure groups to acknowledge together
	NoteOnly                      string     // label of the button that only saves the note, or empty
}

// AckGroup is one of several failure groups.
type AckGroup struct{ Ref, Text, Detail string }

// localTime is the format of a datetime-local field.
const localTime = "2006-01-02T15:04"

// ResumeLater adds the field for a time at which the acknowledged run is resumed.
func (p *AckPage) ResumeLater(c *ui.Context) {
	p.CanResume, p.At, p.Zone = !p.NoAck && !p.Back, c.Field("at"), c.Display.Zone.String()
}

// ResumeAt returns the time at which to resume an acknowledged run, or zero if none was entered.
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
