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
type lister func(d *program, ctx context.Context) []string

// listers complete arguments, by command and name in the usage line.
var listers = map[string]lister{
	"user passwd NAME": (*program).userNames, "user role NAME": (*program).userNames, "user role ROLE": (*program).roles,
	"user link NAME": (*program).userNames, "user login-link NAME": (*program).userNames, "user sign-out NAME": (*program).userNames,
	"user second-factor-off NAME": (*program).userNames, "user disable NAME": (*program).userNames, "user enable NAME": (*program).userNames,
	"token revoke ID": (*program).tokenIDs,
}

// flagListers complete flags, by name.
var flagListers = map[string]lister{
	"role": (*program).roles, "scope": (*program).scopes, "answer": (*program).demoAnswers, "recipient": (*program).recipients,
}

// completed adds completion of arguments and flags to a tree of commands.
func (d *program) completed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		d.completed(sub)
	}
	if cmd.HasParent() && len(cmd.ValidArgs) == 0 && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = d.completeArgument
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		list, ok := flagListers[f.Name]
		if !ok {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			return d.complete(cmd, list, prefix), cobra.ShellCompDirectiveNoFileComp
		}); err != nil {
			panic(err) // only a flag that does not exist causes an error
		}
	})
}

// completeArgument completes the next argument of a command. Arguments that are files are completed
// by the shell.
func (d *program) completeArgument(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	name := cli.ArgumentAt(cmd.Use, len(args))
	list, ok := listers[strings.TrimPrefix(cmd.CommandPath(), "kairosd ")+" "+name]
	switch {
	case ok:
		return d.complete(cmd, list, prefix), cobra.ShellCompDirectiveNoFileComp
	case name == "FILE" || name == "BACKUP" || name == "DIRECTORY":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (d *program) complete(cmd *cobra.Command, list lister, prefix string) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	return slices.DeleteFunc(list(d, ctx), func(w string) bool { return !strings.HasPrefix(w, prefix) })
}

// stored reads from the daemon that has the database open, or else from the database without
// changing it. Errors leave the list empty, because a completion cannot report them.
func (d *program) stored(ctx context.Context, daemon func(*client.Client) error, database func(*store.Store) error) {
	if datadir.IsSocket(d.dir().Socket()) {
		c := client.Unix(d.dir().Socket())
		err := daemon(c)
		_ = c.Close()
		if err == nil {
			return
		}
	}
	_ = d.withStore(ctx, true, database)
}

func (d *program) userNames(ctx context.Context) (out []string) {
	add := func(list []domain.User, err error) error {
		for _, u := range list {
			out = append(out, u.Name+"\t"+string(u.Role))
		}
		return err
	}
	d.stored(ctx, func(c *client.Client) error { return add(c.Users(ctx)) }, func(s *store.Store) error { return add(s.Users(ctx)) })
	return out
}

// tokenIDs lists the tokens that can be revoked.
func (d *program) tokenIDs(ctx context.Context) (out []string) {
	add := func(list []domain.Token, err error) error {
		for _, t := range list {
			if t.RevokedAt.IsZero() {
				out = append(out, t.ID+"\t"+cli.FirstLine(t.Name))
			}
		}
		return err
	}
	d.stored(ctx, func(c *client.Client) error { return add(c.Tokens(ctx)) }, func(s *store.Store) error { return add(s.Tokens(ctx)) })
	return out
}

func (d *program) roles(context.Context) (out []string) {
	for _, r := range domain.Roles {
		out = append(out, string(r))
	}
	return out
}

func (d *program) scopes(context.Context) []string { return slices.Clone(domain.Scopes) }

func (d *program) demoAnswers(context.Context) []string { return []string{"happened", "again"} }

// recipients lists the configured recipients of backups.
func (d *program) recipients(context.Context) []string {
	cfg, err := config.Load(d.config)
	if err != nil {
		return nil
	}
	return slices.Clone(cfg.Backup.Recipients)
}
