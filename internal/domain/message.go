package domain

import "github.com/kairosd/kairosd/planner/message"

// Message is a text for people with its arguments kept apart, so that the dashboard can translate
// it. Text is the English format, and the key of the translations.
type Message = message.Message

// Messagef returns a message. The format must be a constant, because it is the key of the
// translations.
func Messagef(format string, args ...any) Message { return message.New(format, args...) }

// Verbatim returns a message that is never translated, such as the output of a tool, a model, or a
// person.
func Verbatim(text string) Message { return message.Verbatim(text) }

// DecodeMessage decodes a stored message. english is the text that is stored next to it.
func DecodeMessage(stored *string, english string) Message {
	if stored == nil {
		return Verbatim(english)
	}
	return message.Decode(*stored, english)
}

// EncodeMessage encodes a message for the store. The result is nil if the English text suffices.
func EncodeMessage(m Message) *string {
	if s := m.Encode(); s != "" {
		return &s
	}
	return nil
}
