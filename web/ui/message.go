package ui

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// Message is a message in the reader's language and zone. What it quotes (names, values,
// texts of tools and people) stays as it is. A message without a translation is English.
func (c *Context) Message(m domain.Message) string {
	if m.IsZero() {
		return ""
	}
	text := c.T(m.Text)
	// A text that the catalog lacks stays English, and quotes as English does.
	spanish := text != m.Text && c.Display.Lang.Tag == "es"
	return m.Render(text, func(verb byte, arg any) string { return c.argument(verb, arg, spanish) })
}

// argument is an argument of a message.
func (c *Context) argument(verb byte, arg any, spanish bool) string {
	switch a := arg.(type) {
	case domain.Message:
		return c.Message(a)
	case time.Time:
		return c.Time(a).Text
	case string:
		switch {
		case verb != 'q':
			return kit.Visible(a)
		case spanish:
			return "«" + kit.Visible(a) + "»"
		}
		return kit.Visible(strconv.Quote(a))
	}
	return kit.Visible(fmt.Sprint(arg))
}

// Constant is a stored text in the reader's language, if it is one of those that the
// program writes without arguments; another stays as it is.
func (c *Context) Constant(text string) string { return kit.Visible(c.T(text)) }

// Sentence is an error with its suggestion, in the reader's language.
func (c *Context) Sentence(err error) string {
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return kit.Begun(kit.Visible(err.Error()))
	}
	text := kit.Begun(c.Message(wrapped(err, e)))
	if e.Suggestion != "" {
		text += ". " + kit.Begun(c.Message(e.Advice()))
	}
	return text
}

// wrapped is the message of an error; the text of a surrounding error is not translated.
func wrapped(err error, e *domain.Error) domain.Message {
	if err.Error() != e.Error() {
		return domain.Verbatim(err.Error())
	}
	return e.Localize()
}
