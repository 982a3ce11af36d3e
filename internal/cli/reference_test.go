package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
)

var update = flag.Bool("update", false, "write docs/reference/cli.md again")

var programs = map[string]func(context.Context, cli.Streams, []string) int{"kairos": kairos.Run, "kairosd": kairosd.Run}

// rootOf is a program's tree of commands, by its name.
func rootOf(program string, s cli.Streams) *cobra.Command {
	if program == "kairosd" {
		return kairosd.Command(s)
	}
	return kairos.Command(s)
}

// commandsOf lists a program's commands and their subcommands.
func commandsOf(program string) (out []*cobra.Command) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			out = append(out, sub)
			visit(sub)
		}
	}
	visit(rootOf(program, silent(io.Discard)))
	return out
}

func silent(out io.Writer) cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: out, Err: out, Env: func(string) string { return "" }}
}

// Every command has a description in lines that fit a terminal, with an example.
func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for name, program := range programs {
		commands := commandsOf(name)
		if len(commands) < 15 {
			t.Fatalf("%s has %d commands", name, len(commands))
		}
		for _, cmd := range commands {
			var out bytes.Buffer
			args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
			if code := program(t.Context(), silent(&out), args); code != 0 || !strings.Contains(out.String(), "Examples:") ||
				strings.Contains(out.String(), "\t") {
				t.Errorf("%s --help: exit %d\n%s", cmd.CommandPath(), code, out.String())
			}
			for line := range strings.Lines(cmd.Long) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > 95 {
					t.Errorf("%s: a line of the description has %d characters: %s", cmd.CommandPath(), n, line)
				}
			}
			if cmd.Long == "" || cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
				t.Errorf("%s does not say what it does: %q, %q", cmd.CommandPath(), cmd.Short, cmd.Long)
			}
		}
	}
}

// Every example in the help is a command that exists, with these flags and arguments.
func TestExamplesOfHelpAreValid(t *testing.T) {
	t.Parallel()
	seen := 0
	for name := range programs {
		for _, cmd := range append(commandsOf(name), rootOf(name, silent(io.Discard))) {
			for line := range strings.Lines(cmd.Example) {
				words := shellWords(t, line)
				if len(words) == 0 {
					continue
				}
				seen++
				root := rootOf(words[0], silent(io.Discard)) // flags keep their values
				if root.Name() != words[0] {
					t.Errorf("%s: %q begins with neither program", cmd.CommandPath(), line)
					continue
				}
				if err := taken(root, words[1:]); err != nil {
					t.Errorf("help of %s: %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d examples", seen)
	}
}

// taken returns why a command line would be refused, or nil.
func taken(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if cmd == root {
		return fmt.Errorf("names no command")
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return err
	}
	return cmd.ValidateRequiredFlags()
}

// shellWords returns the words of the first command in a line of a shell.
func shellWords(t *testing.T, line string) (words []string) {
	t.Helper()
	var word strings.Builder
	begun := false
	var quote rune
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range strings.TrimSpace(line) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == '|' || r == '>' || r == '<' || r == '#':
			end()
			return words
		case r == ' ':
			end()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		t.Errorf("%q: a quote is open", line)
	}
	end()
	return words
}

// docs/reference/cli.md lists every command as the programs print it. make docs writes it.
func TestThePageOfCommands(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "reference", "cli.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- commands: written by make docs -->\n", "<!-- end of commands -->"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("docs/reference/cli.md has no place for the commands")
	}
	want := before + begin + reference("kairos") + reference("kairosd") + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("docs/reference/cli.md differs from the programs (-want +got); write it with make docs:\n%s", diff)
	}
}

// reference returns the table of a program's commands. Their arguments are in their help.
func reference(program string) string {
	var b strings.Builder
	root := rootOf(program, silent(io.Discard))
	fmt.Fprintf(&b, "\n### %s\n\n%s\n\nFlags of every command:\n\n%s", program, root.Short+".", flagsOf(root.PersistentFlags()))
	titles := map[string]string{}
	for _, g := range root.Groups() {
		titles[g.ID], _, _ = strings.Cut(strings.TrimSuffix(g.Title, ":"), " (")
	}
	b.WriteString("\n| command | does | |\n| --- | --- | --- |\n")
	for _, cmd := range commandsOf(program) {
		if cmd.Hidden || cmd.GroupID == "short" { // the page lists the short forms once
			continue
		}
		group := titles[cmd.GroupID]
		for p := cmd.Parent(); group == "" && p != nil; p = p.Parent() {
			group = titles[p.GroupID]
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(useOf(cmd), "|", "\\|"), cmd.Short, group)
	}
	return b.String()
}

func useOf(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.UseLine(), " [flags]")
}

func flagsOf(set *pflag.FlagSet) string {
	var b strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		kind, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		fmt.Fprintf(&b, "- `%s`: %s\n", name, text)
	})
	return b.String()
}
