package cli

import (
	"context"
	"io"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/exit"
)

// KairosOn is Kairos with another way to open the database.
func KairosOn(ctx context.Context, s Streams, opening assemble.Opening, args []string) int {
	return Execute(ctx, (&App{Streams: s, opening: opening}).root(), s, args, "kairos", exit.CodeFor)
}

// Plain is what stands between a command and a terminal.
func Plain(w io.Writer) io.Writer { return &plain{w: w} }

// Moment reads a time that is to come.
var Moment = moment
