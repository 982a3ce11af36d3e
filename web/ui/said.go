package ui

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// What the engine, the store and the filter say is English wherever it is kept: in
// journals, in the audit log, in answers to programs. Pages know its sentences by
// their form and say them in the reader's language; what a sentence quotes (names,
// values, what an error or a person said) stays as it was said. A sentence
// that has no form here is shown as it is.

// saidForm is one sentence, as the code that says it formats it.
type saidForm struct {
	text  string
	form  *regexp.Regexp
	fixed int // letters that are its own: the more, the surer it is meant
}

var (
	saidVerb  = regexp.MustCompile(`%[.\d]*[a-z]`)
	saidTable = sync.OnceValue(func() []saidForm {
		out := make([]saidForm, len(saidTexts))
		for i, text := range saidTexts {
			var expr strings.Builder
			at, fixed := 0, 0
			for _, m := range saidVerb.FindAllStringIndex(text, -1) {
				expr.WriteString(regexp.QuoteMeta(text[at:m[0]]))
				fixed += m[0] - at
				switch text[m[1]-1] {
				case 'd':
					expr.WriteString(`(-?\d+)`)
				case 'q':
					expr.WriteString(`("(?:[^"\\]|\\.)*")`)
				default:
					expr.WriteString(`(.+?)`)
				}
				at = m[1]
			}
			expr.WriteString(regexp.QuoteMeta(text[at:]))
			out[i] = saidForm{text, regexp.MustCompile(`(?s)^` + expr.String() + `$`), fixed + len(text) - at}
		}
		slices.SortStableFunc(out, func(a, b saidForm) int { return cmp.Compare(b.fixed, a.fixed) })
		return out
	})
)

// saidNests are the forms whose parts are sentences, too.
var saidNests = []string{"%s; the run is %s", "nothing to resume: %s", "input: %s", "values: %s", "output: %s", "output of %s: %s", "edits: %s: %s", "instead: %s: %s", "the failure is a decision on steps that are kept: %s",
	"Cannot create valid execution plan for request: %s", "the model's answer cannot be used: %s",
	"Safe mode: %s. Everything can be looked at and cancelled; nothing is executed.", "Nothing is executed: %s. %s.", "%s, %d events after event %d are missing", "%s since a restore."}

// Said is a sentence of the installation in the reader's language.
func (c *Context) Said(text string) string {
	if text == "" || c.Display.Lang.Tag == "en" {
		return kit.Visible(text)
	}
	for _, f := range saidTable() {
		m := f.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		nests := slices.Contains(saidNests, f.text)
		args := make([]any, len(m)-1)
		for i, part := range m[1:] {
			quoted, err := strconv.Unquote(part)
			switch {
			case err == nil && part[0] == '"': // what it quotes, as the language quotes
				args[i] = "«" + kit.Visible(quoted) + "»"
			case stateForm.MatchString(part):
				args[i] = state(c, part)
			case nests:
				args[i] = c.SaidInside(part)
			default:
				args[i] = kit.Visible(part)
			}
		}
		return fmt.Sprintf(saidVerb.ReplaceAllString(c.T(f.text), "%s"), args...)
	}
	return kit.Visible(text)
}

// SaidInside is a sentence within another: one of those, where a run stands, or
// several after one another.
func (c *Context) SaidInside(text string) string {
	for _, reason := range domain.WaitReasons {
		if s := c.HeadlineOf(domain.RunWaiting, reason, text); s != kit.Visible(text) {
			return s
		}
	}
	if parts := strings.Split(text, "; "); len(parts) > 1 {
		for i := range parts {
			parts[i] = c.Said(parts[i])
		}
		return strings.Join(parts, "; ")
	}
	return c.Said(text)
}

// stateForm is the state of a run in an error: its status, and for what it waits.
var stateForm = regexp.MustCompile(`^(queued|running|waiting|completed|failed|cancelled)(?: \((\w+)\))?$`)

func state(c *Context, text string) string {
	m := stateForm.FindStringSubmatch(text)
	if m[2] == "" && m[1] == string(domain.RunWaiting) {
		return c.T("Waiting")
	}
	return c.T(RunStatus(domain.RunStatus(m[1]), domain.WaitReason(m[2])).Word)
}

// Sentence is an error with its suggestion, in the reader's language.
func (c *Context) Sentence(err error) string {
	text := kit.Begun(c.SaidInside(err.Error()))
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Suggestion != "" {
		text += ". " + kit.Begun(c.Said(e.Suggestion))
	}
	return text
}
