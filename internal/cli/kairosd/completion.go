package kairosd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// completionTimeout bounds how long a shell waits for the completion of a word.
const completionTimeout = 2 * time.Second

// lister lists the words that complete an argument or a flag.
type lister func(c completer, ctx context.Context) []string

// completer completes words for a shell.
type completer struct{ *program }

// listers complete arguments, by command and name in the usage line.
var listers = map[string]lister{
	"user passwd NAME": completer.userNames, "user role NAME": completer.userNames, "user role ROLE": completer.roles,
	"user link NAME": completer.userNames, "user login-link NAME": completer.userNames, "user sign-out NAME": completer.userNames,
	"user second-factor-off NAME": completer.userNames, "user disable NAME": completer.userNames,
	"user enable NAME": completer.userNames,
	"token revoke ID":  completer.tokenIDs,
}

// flagListers complete flags, by name.
var flagListers = map[string]lister{
	"role": completer.roles, "scope": completer.scopes, "answer": completer.demoAnswers, "recipient": completer.recipients,
}

// completed adds completion of arguments and flags to a tree of commands.
func (c completer) completed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.completed(sub)
	}
	if cmd.HasParent() && len(cmd.ValidArgs) == 0 && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = c.completeArgument
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		list, ok := flagListers[f.Name]
		if !ok {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			return c.complete(cmd, list, prefix), cobra.ShellCompDirectiveNoFileComp
		}); err != nil {
			panic(err) // only a flag that does not exist causes an error
		}
	})
}

// completeArgument completes the next argument of a command. Arguments that are files are completed
// by the shell.
func (c completer) completeArgument(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	name := cli.ArgumentAt(cmd.Use, len(args))
	list, ok := listers[strings.TrimPrefix(cmd.CommandPath(), "kairosd ")+" "+name]
	switch {
	case ok:
		return c.complete(cmd, list, prefix), cobra.ShellCompDirectiveNoFileComp
	case name == "FILE" || name == "BACKUP" || name == "DIRECTORY":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (c completer) complete(cmd *cobra.Command, list lister, prefix string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	return slices.DeleteFunc(list(c, ctx), func(w string) bool { return !strings.HasPrefix(w, prefix) })
}

// stored reads from the daemon that has the database open, or else from the database without
// changing it. Errors leave the list empty, because a completion cannot report them.
func (c completer) stored(ctx context.Context, daemon func(*client.Client) error, database func(*store.Store) error) {
	if datadir.IsSocket(c.dir().Socket()) {
		b := client.Unix(c.dir().Socket())
		err := daemon(b)
		_ = b.Close()
		if err == nil {
			return
		}
	}
	_ = c.withStore(ctx, true, database)
}

func (c completer) userNames(ctx context.Context) (out []string) {
	add := func(list []domain.User, err error) error {
		for _, u := range list {
			out = append(out, u.Name+"\t"+string(u.Role))
		}
		return err
	}
	c.stored(ctx, func(b *client.Client) error { return add(b.Users(ctx)) }, func(s *store.Store) error { return add(s.Users(ctx)) })
	return out
}

// tokenIDs lists the tokens that can be revoked.
func (c completer) tokenIDs(ctx context.Context) (out []string) {
	add := func(list []domain.Token, err error) error {
		for _, t := range list {
			if t.RevokedAt.IsZero() {
				out = append(out, t.ID+"\t"+cli.FirstLine(t.Name))
			}
		}
		return err
	}
	c.stored(ctx, func(b *client.Client) error { return add(b.Tokens(ctx)) }, func(s *store.Store) error { return add(s.Tokens(ctx)) })
	return out
}

func (c completer) roles(context.Context) (out []string) {
	for _, r := range domain.Roles {
		out = append(out, string(r))
	}
	return out
}

func (c completer) scopes(context.Context) []string { return slices.Clone(domain.Scopes) }

func (c completer) demoAnswers(context.Context) []string { return []string{"happened", "again"} }

// recipients lists the configured recipients of backups.
func (c completer) recipients(context.Context) []string {
	cfg, err := config.Load(c.config)
	if err != nil {
		return nil
	}
	return slices.Clone(cfg.Backup.Recipients)
}
