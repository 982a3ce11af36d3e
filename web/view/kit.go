// Package view holds the templates of the pages that have no folder of their own yet.
// Templates take view models only: strings and numbers, ready to print; nothing here
// knows plans, runs, or the store.
package view

import (
	"context"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
)

// What templates here take from the kit, under the names that they know it by.
type (
	Shell       = kit.Shell
	Once        = kit.Once
	Choice      = kit.Choice
	Option      = kit.Option
	Status      = kit.Status
	Link        = kit.Link
	Time        = kit.Time
	Fact        = kit.Fact
	Field       = kit.Field
	Block       = kit.Block
	Node        = kit.Node
	FindForm    = kit.FindForm
	ErrorPage   = kit.ErrorPage
	RowPages    = kit.RowPages
	Notice      = kit.Notice
	DiffLine    = kit.DiffLine
	EventRow    = kit.EventRow
	ConfirmPage = kit.ConfirmPage
	ProblemRow  = kit.ProblemRow
)

// T is a message in the reader's language; it is named by its English text
// (package locale).
func T(ctx context.Context, text string, args ...any) string { return kit.T(ctx, text, args...) }

// N is a message about n things.
func N(ctx context.Context, n int, one, other string, args ...any) string {
	return kit.N(ctx, n, one, other, args...)
}

// Page is a whole page; or, for a dialog, only what the page says.
func Page(s Shell) templ.Component { return kit.Page(s) }

// StatusWord is a status in word, shape, and color.
func StatusWord(s Status) templ.Component { return kit.StatusWord(s) }

// TimeOf is a moment, with its exact time as a title.
func TimeOf(t Time) templ.Component { return kit.TimeOf(t) }

// Elapsed is a duration that grows while something is under way.
func Elapsed(took string, since int64) templ.Component { return kit.Elapsed(took, since) }

// LinkButton is a link, or the button of an act at one click.
func LinkButton(l Link) templ.Component { return kit.LinkButton(l) }

// BlockView is a titled text or value.
func BlockView(b Block) templ.Component { return kit.BlockView(b) }

// Error is a page that says what happened and what still works.
func Error(p ErrorPage) templ.Component { return kit.Error(p) }

// ErrorPanel is what an error page says.
func ErrorPanel(p ErrorPage) templ.Component { return kit.ErrorPanel(p) }

// Confirm asks before something is done.
func Confirm(p ConfirmPage) templ.Component { return kit.Confirm(p) }

func glyph(s Status) templ.Component                 { return kit.Glyph(s) }
func formError(text string) templ.Component          { return kit.FormError(text) }
func rowPages(p RowPages) templ.Component            { return kit.RowLinks(p) }
func findForm(f FindForm) templ.Component            { return kit.FindBox(f) }
func currentPage(is bool) templ.Attributes           { return kit.CurrentPage(is) }
func current(is bool) templ.Attributes               { return kit.Current(is) }
func outOfBand(along bool) templ.Attributes          { return kit.OutOfBand(along) }
func classed(class string, is bool) templ.Attributes { return kit.Classed(class, is) }
func addresses(list []string) templ.Component        { return kit.Addresses(list) }
