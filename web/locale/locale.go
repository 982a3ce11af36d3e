// Package locale translates the texts of pages. The English text is the key, so that templates read
// like pages. The Spanish catalog is es.po in the format of GNU gettext: msgid is the English text,
// and msgid_plural its plural.
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

// Language is a language of the dashboard.
type Language struct {
	Tag  string // BCP 47
	Name string // in the language itself
	// group and point are the separators of thousands and decimals.
	group, point string
	// catalog returns the translations, which are parsed on first use. It is nil for English.
	catalog func() *gotext.Po
}

// English is the source language.
var English = &Language{Tag: "en", Name: "English", group: ",", point: "."}

// Spanish is translated by es.po.
var Spanish = &Language{Tag: "es", Name: "Español", group: ".", point: ",", catalog: sync.OnceValue(func() *gotext.Po {
	po := gotext.NewPo()
	po.Parse(spanish)
	return po
})}

// Pseudo is English with texts made 40% longer, to find texts that do not fit. Readers cannot
// choose it. Tests select it by its tag.
var Pseudo = &Language{Tag: "en-XA", Name: "Pseudo", group: ",", point: "."}

// Languages lists the languages that readers can choose.
var Languages = []*Language{English, Spanish}

// Mark returns text unchanged. It marks a message that is translated later, when it is shown.
func Mark(text string) string { return text }

// Text translates a text and formats it with args as fmt.Sprintf does. It returns the English text
// if the catalog lacks it.
func (l *Language) Text(text string, args ...any) string {
	text = l.translated(text, "", 1)
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Count returns the text for n things, one or other, formatted with n and args.
func (l *Language) Count(n int, one, other string, args ...any) string {
	text := l.translated(one, other, n)
	return fmt.Sprintf(text, append([]any{l.Number(int64(n))}, args...)...)
}

// translated returns the translation for n things, unformatted.
func (l *Language) translated(one, other string, n int) string {
	if l.catalog != nil {
		get := l.catalog().GetN // a variable, because vet requires a constant format for a method call
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

// Number formats a whole number with separators.
func (l *Language) Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if len(s) < 5 && l == Spanish { // Spanish separates thousands only in numbers of five or more digits
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

// Decimal formats a number with the given number of decimals.
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

// Percent formats a fraction as a percentage. Spanish has a no-break space before the sign.
func (l *Language) Percent(share float64) string {
	n := strconv.FormatFloat(100*share, 'f', 0, 64)
	if l == Spanish {
		return n + "\u00a0%"
	}
	return n + "%"
}

// stretch appends padding to a text. It leaves the verbs of the format unchanged.
func stretch(s string) string {
	words := strings.Fields(s)
	if len(words) == 0 {
		return s
	}
	return s + " " + strings.Repeat("·", max(1, len([]rune(s))*2/5))
}

type key struct{}

// With returns a context with the language of the reader.
func With(ctx context.Context, l *Language) context.Context { return context.WithValue(ctx, key{}, l) }

// Of returns the language of the reader, English by default.
func Of(ctx context.Context) *Language {
	if l, ok := ctx.Value(key{}).(*Language); ok {
		return l
	}
	return English
}

// T is [Language.Text] in the language of the context.
func T(ctx context.Context, text string, args ...any) string { return Of(ctx).Text(text, args...) }

// N is [Language.Count] in the language of the context.
func N(ctx context.Context, n int, one, other string, args ...any) string {
	return Of(ctx).Count(n, one, other, args...)
}

// Find returns the language with a tag, or nil.
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

// Accepted returns the preferred language of an Accept-Language header that the dashboard has, or
// English.
func Accepted(header string) *Language {
	best, weight := English, 0.0
	for i, part := range strings.Split(header, ",") {
		if i == 20 {
			break // limits the work on a hostile header
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
