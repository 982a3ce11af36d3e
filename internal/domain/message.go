package domain

import "github.com/kairosd/kairosd/planner/message"

// Message is a text for people with its arguments kept apart, so that the dashboard can
// show it in the reader's language. Its Text, the English format, is the key of the catalog.
type Message = message.Message

// Messagef returns a message. The format is a constant: it is the key of its translations.
func Messagef(format string, args ...any) Message { return message.New(format, args...) }

// Verbatim is the message of a text that is never translated, such as one of a tool, a
// model, or a person.
func Verbatim(text string) Message { return message.Verbatim(text) }

// DecodeMessage reads a stored message. english is the text that is stored beside it.
func DecodeMessage(stored *string, english string) Message {
	if stored == nil {
		return Verbatim(english)
	}
	return message.Decode(*stored, english)
}

// EncodeMessage is a message as it is stored; nil: its English is enough.
func EncodeMessage(m Message) *string {
	if s := m.Encode(); s != "" {
		return &s
	}
	return nil
}
