package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

// Root is a program's tree of commands, by its name.
func Root(program string, s Streams) *cobra.Command {
	if program == "kairosd" {
		return (&daemon{Streams: s}).root()
	}
	return (&app{Streams: s}).root()
}

// CommandsOf lists a program's commands and their subcommands.
func CommandsOf(program string) []*cobra.Command {
	var out []*cobra.Command
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			out = append(out, sub)
			visit(sub)
		}
	}
	visit(Root(program, Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}))
	return out
}

// Plain is what stands between a command and a terminal.
func Plain(w io.Writer) io.Writer { return &plain{w: w} }

// Of the daemon's server and log.
var (
	SiteServer = siteServer
	Bounded    = bounded
	NewLogSink = newLogSink
	DiskFills  = diskFills
)

// Moment reads a time that is to come.
var Moment = moment

const LogRoom = logRoom

// RoleNow is what who started runs under a name may do now.
var RoleNow = roleNow

// KairosdOpening is Kairosd whose daemon opens its database in another way.
func KairosdOpening(open func(context.Context, string, store.Options) (*store.Store, error)) func(context.Context, Streams, []string) int {
	return func(ctx context.Context, s Streams, args []string) int {
		return kairosd(ctx, &daemon{Streams: s, open: open}, args)
	}
}

// Drill tests a restore of the newest backup in a directory.
func Drill(ctx context.Context, s *store.Store, dir string) (*kairos.RestoreTest, error) {
	sys := &system{store: s}
	sys.reconfigure(&upkeep{backups: dir})
	err := sys.drill(ctx)
	return sys.drilled, err
}
