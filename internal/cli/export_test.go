package cli

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
)

var commandLine = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)  `)

// CommandsOf lists a program's commands and their subcommands, as its own help
// names them.
func CommandsOf(program func(context.Context, Streams, []string) int) [][]string {
	var out [][]string
	var visit func(args []string)
	visit = func(args []string) {
		var b bytes.Buffer
		program(context.Background(), Streams{In: strings.NewReader(""), Out: &b, Err: &b, Env: func(string) string { return "" }}, append(args[:len(args):len(args)], "--help"))
		_, list, ok := strings.Cut(b.String(), "Available Commands:")
		if !ok {
			return
		}
		list, _, _ = strings.Cut(list, "\nFlags:")
		for _, m := range commandLine.FindAllStringSubmatch(list, -1) {
			if m[1] == "help" || m[1] == "completion" {
				continue
			}
			sub := append(args[:len(args):len(args)], m[1])
			out = append(out, sub)
			visit(sub)
		}
	}
	visit(nil)
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

const LogRoom = logRoom

// RoleNow is what who started runs under a name may do now.
var RoleNow = roleNow
