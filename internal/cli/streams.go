// Package cli holds what the commands of kairos and kairosd share: their input and output, exit
// codes, and formats. Commands run in process, so tests call them as the main functions do.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // for hosts without certificates, such as an image from scratch

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// Streams holds the input, the output, and the environment of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Env func(string) string
	// Width is the number of characters in a line of Out. 0 means no limit.
	Width int
	// Interactive is set if a person can answer prompts on In and Err.
	Interactive bool
}

// OS returns the streams of the process.
func OS() Streams {
	return Streams{In: os.Stdin, Out: screen(os.Stdout), Err: screen(os.Stderr), Env: os.Getenv, Width: width(os.Stdout),
		Interactive: interactive()}
}

// Main runs a program with the arguments and signals of the process, and returns its exit code. The
// first SIGINT or SIGTERM ends the context, and a second one ends the process.
func Main(program func(context.Context, Streams, []string) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // further signals have their default effect
	}()
	return program(ctx, OS(), os.Args[1:])
}

// interactive reports whether stdin and stderr are terminals.
func interactive() bool {
	for _, f := range []*os.File{os.Stdin, os.Stderr} {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 || width(f) == 0 {
			return false
		}
	}
	return true
}

// Execute runs a command tree.
func Execute(ctx context.Context, root *cobra.Command, s Streams, args []string, program string, code func(error) int) int {
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Usage("%s\n  see %s --help", err, cmd.CommandPath())
	})
	begun := false
	whenBegun(root, func() { begun = true })
	plainUsage(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exit.Done
	}
	if _, reported := errors.AsType[*exit.Status](err); !begun && !reported { // the arguments do not fit the command
		where := program
		if cmd != root {
			where = cmd.CommandPath()
		}
		err = exit.Usage("%s%s\n  see %s --help", flagsError(err), didYouMean(cmd), where)
	}
	switch code := domain.CodeOf(err); {
	case program == "kairosd" && code == domain.CodeLocked:
		err = exit.Advise(err, "if it is kairosd serve, stop it; otherwise wait for it")
	case program == "kairos" && code == domain.CodeUnauthorized:
		err = exit.Advise(err, "pass an API token with --token or KAIROS_TOKEN; create one on the server: kairosd token create")
	}
	exit.Report(s.Err, program, err)
	return code(err)
}

// didYouMean suggests subcommands with a similar name.
func didYouMean(cmd *cobra.Command) string {
	words := cmd.Flags().Args()
	if !cmd.HasSubCommands() || len(words) == 0 {
		return ""
	}
	cmd.SuggestionsMinimumDistance = 2
	like := cmd.SuggestionsFor(words[0])
	if len(like) == 0 {
		return ""
	}
	return fmt.Sprintf("\n  did you mean %s %s?", cmd.CommandPath(), strings.Join(like, " or "))
}

// whenBegun makes commands call a function when they begin, after arguments and flags are parsed.
func whenBegun(cmd *cobra.Command, onBegin func()) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			onBegin()
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		whenBegun(sub, onBegin)
	}
}

// DefaultConfig returns the default configuration file: kairos/kairos.yaml under $XDG_CONFIG_HOME
// or ~/.config. It is empty if the file does not exist.
func (s Streams) DefaultConfig() string {
	dir := s.Env("XDG_CONFIG_HOME")
	if home := s.Env("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".config")
	}
	if path := filepath.Join(dir, "kairos", "kairos.yaml"); dir != "" && datadir.Exists(path) {
		return path
	}
	return ""
}

// PlainDefaults removes default values from the help, because they depend on this host. The
// description of each flag contains its default.
func PlainDefaults(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).DefValue = ""
	}
}

// Versioned adds --version and help to a program.
func Versioned(root *cobra.Command) {
	root.SetHelpCommand(helpCommand(root))
	root.Version = buildinfo.Version
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
}

// DataDirectory returns the default data directory of both programs: kairos under $XDG_DATA_HOME or
// ~/.local/share.
func (s Streams) DataDirectory() string {
	if dir := s.Env("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "kairos")
	}
	if home := s.Env("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "kairos")
	}
	return "data" // a service without a home directory uses its working directory
}

// Print writes a value as one line of JSON.
func (s Streams) Print(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (s Streams) Printf(format string, args ...any) { fmt.Fprintf(s.Out, format, args...) }
func (s Streams) Errorf(format string, args ...any) { fmt.Fprintf(s.Err, format, args...) }
