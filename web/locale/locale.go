// Package locale translates the texts of pages. A text's English is its key, so that a
// template reads as the page does. The Spanish catalog is es.po, a file of GNU gettext:
// msgid is the English text, msgid_plural its plural.
package locale

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/leonelquinteros/gotext"
)

//go:embed es.po
var spanish []byte

// Language is one that pages are written in.
type Language struct {
	Tag  string // BCP 47
	Name string // in the language itself
	// group and point are how numbers are written.
	group, point string
	// catalog is parsed when it is first used; nil: the texts are English.
	catalog func() *gotext.Po
}

// English is the language of the messages' names.
var English = &Language{Tag: "en", Name: "English", group: ",", point: "."}

// Spanish is the second language of the first users.
var Spanish = &Language{Tag: "es", Name: "Español", group: ".", point: ",", catalog: sync.OnceValue(func() *gotext.Po {
	po := gotext.NewPo()
	po.Parse(spanish)
	return po
})}

// Pseudo is English made 40% longer, to find what does not fit. It is not offered to readers; tests choose it
// by name.
var Pseudo = &Language{Tag: "en-XA", Name: "Pseudo", group: ",", point: "."}

// Languages lists those that a person may choose.
var Languages = []*Language{English, Spanish}

// Mark names a message that is translated elsewhere, when it is shown. It
// returns the text as it is.
func Mark(text string) string { return text }

// Text is a text in the language l, formatted with args as by fmt.Sprintf. A text that
// the catalog lacks stays English.
func (l *Language) Text(text string, args ...any) string {
	text = l.translated(text, "", 1)
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Count is a text about n things: one or other, with n and then args as its arguments.
func (l *Language) Count(n int, one, other string, args ...any) string {
	text := l.translated(one, other, n)
	return fmt.Sprintf(text, append([]any{l.Number(int64(n))}, args...)...)
}

// translated is the text for n things in the language l, not yet formatted.
func (l *Language) translated(one, other string, n int) string {
	if l.catalog != nil {
		get := l.catalog().GetN // not called as a method: vet would ask for a constant format
		return get(one, other, n)
	}
	text := other
	if n == 1 {
		text = one
	}
	if l == Pseudo {
		text = stretch(text)
	}
	return text
}

// Number writes a whole number with its thousands apart.
func (l *Language) Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if len(s) < 5 && l == Spanish { // Spanish groups from five digits on
		return sign + s
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteString(l.group)
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// Decimal writes a number with that many decimals.
func (l *Language) Decimal(f float64, decimals int) string {
	whole, part, found := strings.Cut(strconv.FormatFloat(f, 'f', decimals, 64), ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n != 0 {
		whole = l.Number(n)
	}
	if !found {
		return whole
	}
	return whole + l.point + part
}

// Percent writes a share of one: in Spanish with a space before the sign, which
// does not break.
func (l *Language) Percent(share float64) string {
	n := strconv.FormatFloat(100*share, 'f', 0, 64)
	if l == Spanish {
		return n + "\u00a0%"
	}
	return n + "%"
}

// stretch makes a text longer, but not its verbs.
func stretch(s string) string {
	words := strings.Fields(s)
	if len(words) == 0 {
		return s
	}
	return s + " " + strings.Repeat("·", max(1, len([]rune(s))*2/5))
}

type key struct{}

// With gives a context the language of its reader.
func With(ctx context.Context, l *Language) context.Context { return context.WithValue(ctx, key{}, l) }

// Of is the language of a context's reader; the default is English.
func Of(ctx context.Context) *Language {
	if l, ok := ctx.Value(key{}).(*Language); ok {
		return l
	}
	return English
}

// T is Text in the language of the context.
func T(ctx context.Context, text string, args ...any) string { return Of(ctx).Text(text, args...) }

// N is Count in the language of the context.
func N(ctx context.Context, n int, one, other string, args ...any) string {
	return Of(ctx).Count(n, one, other, args...)
}

// Find is the language with that tag, or nil.
func Find(tag string) *Language {
	if tag == Pseudo.Tag {
		return Pseudo
	}
	base, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, l := range Languages {
		if l.Tag == base {
			return l
		}
	}
	return nil
}

// Accepted is the first language that an Accept-Language header prefers and that
// there is; English if none is.
func Accepted(header string) *Language {
	best, weight := English, 0.0
	for i, part := range strings.Split(header, ",") {
		if i == 20 {
			break // more digits than anyone reads
		}
		tag, q, hasQ := strings.Cut(strings.TrimSpace(part), ";")
		w := 1.0
		if hasQ {
			if f, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64); err == nil {
				w = f
			}
		}
		if l := Find(strings.TrimSpace(tag)); l != nil && l != Pseudo && w > weight {
			best, weight = l, w
		}
	}
	return best
}
