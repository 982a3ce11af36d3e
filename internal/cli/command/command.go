// Package command holds what the commands of kairos share: the flags that select a database or a
// server, the connection, arguments, and output.
package command

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
)

// Group is a command with subcommands. Without a subcommand, it runs the subcommand list. list
// creates the command, and its usage begins with "list".
func Group(name, short string, list func() *cobra.Command, more ...*cobra.Command) *cobra.Command {
	cmd := list()
	cmd.Use, cmd.Short = name+strings.TrimPrefix(cmd.Use, "list"), short
	cmd.AddCommand(list())
	cmd.AddCommand(more...)
	return cmd
}

// Program holds what all commands share: the streams, and the flags that select a database or a
// server and the form of the output.
type Program struct {
	cli.Streams
	DB     string // path of the database file; empty: see [Program.Database]
	Memory bool   // use a temporary database in memory
	Server string // URL of a server, or unix:/path of its socket
	Token  string // of the API; empty: $KAIROS_TOKEN
	Config string // path of the configuration file
	JSON   bool   // print JSON
	Quiet  bool   // print no progress and no notes on stderr
	// Opening opens the database file; nil: store.Open.
	Opening assemble.Opening
	// target holds the flags of this command that select the database or the server.
	target string
}

// Flags adds the flags of all commands.
func (c *Program) Flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&c.DB, "db", "", "database file (default $KAIROS_DB, else kairos.db in your data directory)")
	f.StringVar(&c.Server, "server", c.Env("KAIROS_SERVER"), "URL of a server, or unix:/path of its socket (default $KAIROS_SERVER)")
	f.StringVar(&c.Token, "token", "", "API token for --server (default $KAIROS_TOKEN)")
	f.StringVar(&c.Config, "config", cmp.Or(c.Env("KAIROS_CONFIG"), c.DefaultConfig()),
		"configuration file (default $KAIROS_CONFIG, else kairos/kairos.yaml in your configuration directory)")
	cli.PlainDefaults(f, "server", "config")
	f.BoolVar(&c.JSON, "json", false, "print JSON")
	f.BoolVarP(&c.Quiet, "quiet", "q", false, "print no progress and no notes")
}

// Database returns the path of the database file.
func (c *Program) Database() string {
	if c.DB != "" {
		return c.DB
	}
	if p := c.Env("KAIROS_DB"); p != "" {
		return p
	}
	return filepath.Join(c.DataDirectory(), "kairos.db")
}

// targetFlags are the flags that a suggested command needs as well.
var targetFlags = []string{"db", "server", "config"}

// Remember keeps the flags that select the database or the server for suggested commands.
func (c *Program) Remember(cmd *cobra.Command, _ []string) {
	c.target = ""
	for _, name := range targetFlags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			c.target += " --" + name + " " + Quoted(f.Value.String())
		}
	}
}

// Command returns a command for a message. It uses the same database or server.
func (c *Program) Command(format string, args ...any) string {
	return "kairos " + fmt.Sprintf(format, args...) + c.target
}

// Quoted returns a text as one word of a shell.
func Quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;~#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Notef prints progress or a note on stderr, unless --quiet or --json is set.
func (c *Program) Notef(format string, args ...any) {
	if !c.Quiet && !c.JSON {
		c.Errorf(format, args...)
	}
}

// AddYes adds the flag --yes to a command.
func AddYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask for confirmation")
}
