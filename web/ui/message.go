package ui

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// Message translates m into the reader's language and formats its times in the reader's zone.
// Quoted names, values, and texts stay unchanged. A message without a translation is shown in
// English.
func (c *Context) Message(m domain.Message) string {
	if m.IsZero() {
		return ""
	}
	text := c.T(m.Text)
	// An untranslated message keeps English quotation marks.
	spanish := text != m.Text && c.Display.Lang.Tag == "es"
	return m.Render(text, func(verb byte, arg any) string { return c.argument(verb, arg, spanish) })
}

// argument formats an argument of a message.
func (c *Context) argument(verb byte, arg any, spanish bool) string {
	switch a := arg.(type) {
	case domain.Message:
		return c.Message(a)
	case time.Time:
		return c.Time(a).Text
	case string:
		switch {
		case verb != 'q':
			return kit.Escape(a)
		case spanish:
			return "«" + kit.Escape(a) + "»"
		}
		return kit.Escape(strconv.Quote(a))
	}
	return kit.Escape(fmt.Sprint(arg))
}

// Constant translates a stored text if it is one of the program's own messages without arguments.
// Other texts stay unchanged.
func (c *Context) Constant(text string) string { return kit.Escape(c.T(text)) }

// Sentence returns an error with its suggestion, in the reader's language.
func (c *Context) Sentence(err error) string {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return kit.Capitalize(kit.Escape(err.Error()))
	}
	text := kit.Capitalize(c.Message(wrapped(err, e)))
	if e.Suggestion != "" {
		text += ". " + kit.Capitalize(c.Message(e.Advice()))
	}
	return text
}

// wrapped returns the message of err. If other errors wrap e, the whole text is untranslated.
func wrapped(err error, e *domain.Error) domain.Message {
	if err.Error() != e.Error() {
		return domain.Verbatim(err.Error())
	}
	return e.Localize()
}
