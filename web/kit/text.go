package kit

import (
	"context"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/locale"
)

// T translates a message into the reader's language. Messages are identified by their English text.
func T(ctx context.Context, text string, args ...any) string { return locale.T(ctx, text, args...) }

// N translates a message with a count of n, which selects the plural form.
func N(ctx context.Context, n int, one, other string, args ...any) string {
	return locale.N(ctx, n, one, other, args...)
}

// Lang returns the language tag of the reader.
func Lang(ctx context.Context) string { return locale.Of(ctx).Tag }

// words returns the texts of the scripts, in the reader's language.
func words(ctx context.Context) templ.Attributes {
	return templ.Attributes{"data-w-live": T(ctx, "Live"), "data-w-polling": T(ctx, "Polling"), "data-w-stale": T(ctx, "Stale since"),
		"data-w-paused": T(
			ctx,
			"Paused",
		), "data-w-copied": T(ctx, "Copied"), "data-w-nocopy": T(ctx, "Copying failed"), "data-w-offline": T(ctx, "Offline"),
		"data-w-close": T(
			ctx,
			"Close",
		), "data-w-unread": T(ctx, "The server did not respond. The page may be out of date. Try again."),
		"data-w-ending": T(ctx, "Your login ends soon because of inactivity. Your input is still there."),
		"data-w-stay":   T(ctx, "Stay logged in"),
		"data-w-kept":   T(ctx, "Your login has ended. Your input is kept until you log in again."),
		"data-w-lost":   T(ctx, "kairosd may or may not have received this. Send it again: it takes effect only once.")}
}
