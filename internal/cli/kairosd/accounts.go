package kairosd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/store"
)

// accounts holds what the account commands need: the operations on the database, or the API of the
// daemon that has it open.
type accounts interface {
	Users(ctx context.Context) ([]domain.User, error)
	CreateUser(ctx context.Context, by domain.Actor, name, password string, role domain.Role) (domain.User, error)
	UpdateUser(
		ctx context.Context,
		by domain.Actor,
		idOrName string,
		role *domain.Role,
		password *string,
		disabled *bool,
	) (domain.User, error)
	LinkUser(ctx context.Context, by domain.Actor, idOrName, subject string) (domain.User, error)
	EndSessions(ctx context.Context, by domain.Actor, idOrName string) error
	DisableSecondFactor(ctx context.Context, by domain.Actor, idOrName string) error
	Tokens(ctx context.Context) ([]domain.Token, error)
	CreateToken(ctx context.Context, by domain.Actor, name string, role domain.Role, scopes []string, lifetime time.Duration) (string,
		domain.Token, error)
	RevokeToken(ctx context.Context, by domain.Actor, id, reason string) error
}

// withAccounts uses the database if no daemon runs, and otherwise the daemon's socket.
func (d *program) withAccounts(ctx context.Context, f func(accounts) error) error {
	cfg, err := config.Load(d.config)
	if err != nil {
		return err
	}
	err = d.withStore(ctx, false, func(s *store.Store) error {
		service, err := auth.New(auth.Config{Store: s, Audit: s, Issuer: cfg.Login.Issuer(), SetupFile: d.dir().SetupFile()})
		if err != nil {
			return err
		}
		return f(newStopped(s, service))
	})
	if domain.CodeOf(err) == domain.CodeLocked && datadir.IsSocket(d.dir().Socket()) {
		return f(client.Unix(d.dir().Socket()))
	}
	return err
}

// listed prints a whole list: as one object, or as a table.
func (d *program) listed(items any, headings []string, rows [][]string, nothing string) error {
	note := d.Errorf
	if d.quiet {
		note = func(string, ...any) {}
	}
	return d.Listed(d.json, items, "", headings, rows, nothing, note)
}

func parseRole(s string) (domain.Role, error) {
	if !slices.Contains(domain.Roles, domain.Role(s)) {
		return "", exit.Usage("unknown role %q\n  use viewer, operator, author, or admin", s)
	}
	return domain.Role(s), nil
}

func (d *program) userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "user", Short: "Manage users", Args: cobra.NoArgs,
		Long: `Adds, lists, and changes users. Without a subcommand, it lists them. kairosd serve may be
running or stopped.`,
		Example: "  kairosd user --data /var/lib/kairos\n  kairosd user add marta --role operator < password.txt",
		RunE:    accountLists{d}.listUsers,
	}
	var role string
	add := &cobra.Command{
		Use: "add NAME", Short: "Add a user, with the password from stdin", Args: cobra.ExactArgs(1),
		Long:    "Adds a user. The password is the first line of stdin, 12 to 256 bytes.",
		Example: "  kairosd user add marta --role operator < password.txt",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := parseRole(role)
			if err != nil {
				return err
			}
			password, err := d.password()
			if err != nil {
				return err
			}
			return d.withAccounts(cmd.Context(), func(a accounts) error {
				u, err := a.CreateUser(cmd.Context(), assemble.LocalActor(), args[0], password, r)
				if err != nil {
					return err
				}
				return d.done(userView(u), "user %s added with the role %s", u.Name, u.Role)
			})
		},
	}
	add.Flags().StringVar(&role, "role", "operator", "viewer, operator, author, or admin")
	list := &cobra.Command{
		Use: "list", Short: "List users", Args: cobra.NoArgs, Long: "Lists all users with their roles.",
		Example: "  kairosd user list", RunE: accountLists{d}.listUsers,
	}
	cmd.AddCommand(add, list,
		d.userChange("passwd NAME", "Set a user's password, read from stdin", func(_ string) (*domain.Role, *string, *bool, error) {
			p, err := d.password()
			return nil, &p, nil, err
		}),
		d.userChange("role NAME ROLE", "Change a user's role", func(arg string) (*domain.Role, *string, *bool, error) {
			r, err := parseRole(arg)
			return &r, nil, nil, err
		}),
		d.userLinkCommand(), d.loginLinkCommand(),
		d.userRepairCommand(),
		d.userAct("sign-out", "End all sessions of a user", func(ctx context.Context, a accounts, name string) error {
			return a.EndSessions(ctx, assemble.LocalActor(), name)
		}),
		d.userAct("second-factor-off", "Remove a user's second factor", func(ctx context.Context, a accounts, name string) error {
			return a.DisableSecondFactor(ctx, assemble.LocalActor(), name)
		}),
		d.userChange("disable NAME", "Disable a user and end their sessions", func(string) (*domain.Role, *string, *bool, error) {
			yes := true
			return nil, nil, &yes, nil
		}),
		d.userChange("enable NAME", "Enable a disabled user", func(string) (*domain.Role, *string, *bool, error) {
			no := false
			return nil, nil, &no, nil
		}))
	return cmd
}

// accountLists are the lists of users and tokens.
type accountLists struct{ *program }

// listUsers lists users.
func (d accountLists) listUsers(cmd *cobra.Command, _ []string) error {
	return d.withAccounts(cmd.Context(), func(a accounts) error {
		users, err := a.Users(cmd.Context())
		if err != nil {
			return err
		}
		items, rows := []map[string]any{}, [][]string{}
		for _, u := range users {
			state := "active"
			if u.Disabled {
				state = "disabled"
			}
			if u.Unsealed {
				state = "disabled: changed by another program"
			}
			items = append(items, userView(u))
			rows = append(rows, []string{u.Name, string(u.Role), cli.Stamp(u.CreatedAt), cli.Stamp(u.LastSeenAt), state})
		}
		return d.listed(items, []string{"USER", "ROLE", "CREATED", "LAST SEEN", "STATUS"}, rows, "no users")
	})
}

// userView is a user as --json prints it.
func userView(u domain.User) map[string]any {
	return map[string]any{"id": u.ID, "name": u.Name, "role": u.Role, "disabled": u.Disabled}
}

func (d *program) userChange(use, short string, change func(arg string) (*domain.Role, *string, *bool, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(strings.Count(use,
			" ")), Long: short + ".", Example: "  kairosd user " + strings.ToLower(use),
		RunE: func(cmd *cobra.Command, args []string) error {
			arg := ""
			if len(args) > 1 {
				arg = args[1]
			}
			role, password, disabled, err := change(arg)
			if err != nil {
				return err
			}
			return d.withAccounts(cmd.Context(), func(a accounts) error {
				u, err := a.UpdateUser(cmd.Context(), assemble.LocalActor(), args[0], role, password, disabled)
				if err != nil {
					return err
				}
				return d.done(userView(u), "user %s changed", u.Name)
			})
		},
	}
}

// userAct creates a command that acts on a user by name.
func (d *program) userAct(use, short string, act func(context.Context, accounts, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), Long: short + ". kairosd serve may be running or stopped.",
		Example: "  kairosd user " + use + " marta --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.withAccounts(cmd.Context(), func(a accounts) error {
				if err := act(cmd.Context(), a, args[0]); err != nil {
					return err
				}
				return d.done(map[string]any{"name": args[0]}, "user %s changed", args[0])
			})
		},
	}
}

// userRepairCommand revokes access that other programs granted, and seals all other rows.
func (d *program) userRepairCommand() *cobra.Command {
	return &cobra.Command{
		Use: "repair", Short: "Revoke access that kairosd did not grant", Args: cobra.NoArgs,
		Long: `Revokes access that another program granted by changing the database, as kairosd doctor
lists it. Affected users are disabled, and lose their passwords and their links to an
identity provider. Affected tokens, sessions, and second factors are deleted, and
approval requests are cancelled. Other rows are sealed unchanged. Check with kairosd
user list and kairosd token list that nothing is missing. kairosd serve must be
stopped. The audit log records the repair.`,
		Example: "  kairosd user repair --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), false, func(s *store.Store) error {
				found, err := s.RepairAccess(cmd.Context(), assemble.LocalActor())
				if err != nil {
					return err
				}
				if d.json {
					return d.Print(map[string]any{"found": orEmptyList(found)})
				}
				for _, f := range found {
					d.Printf("%s\n", f)
				}
				d.Printf("%d problems repaired; all users, tokens, and second factors are sealed\n", len(found))
				return nil
			})
		},
	}
}

func (d *program) userLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "link NAME [SUBJECT]", Short: "Link a user to the identity provider", Args: cobra.RangeArgs(1, 2),
		Long: `Links a user to a subject of the configured identity provider. Without a subject, the
link is removed. Open sessions end. The audit log contains the subjects of rejected
logins.`,
		Example: "  kairosd user link marta 248289761001 --config kairos.yaml\n  kairosd user link marta",
		RunE: func(cmd *cobra.Command, args []string) error {
			subject := ""
			if len(args) > 1 {
				subject = args[1]
			}
			return d.withAccounts(cmd.Context(), func(a accounts) error {
				u, err := a.LinkUser(cmd.Context(), assemble.LocalActor(), args[0], subject)
				if err != nil {
					return err
				}
				return d.done(userView(u), "user %s changed", u.Name)
			})
		},
	}
}

func (d *program) loginLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "login-link NAME", Short: "Print a one-time login link", Args: cobra.ExactArgs(1),
		Long: `Prints the path of a page that logs a user in once, within ten minutes, without a
password or an identity provider. kairosd serve must be running.`,
		Example: "  kairosd user login-link marta --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !datadir.IsSocket(d.dir().Socket()) {
				return domain.Errorf(domain.CodeUnavailable, "kairosd serve is not running on %s", d.data).
					Suggest("start it: kairosd serve")
			}
			secret, err := client.Unix(d.dir().Socket()).LoginLink(cmd.Context(), assemble.LocalActor(), args[0])
			if err != nil {
				return err
			}
			path := "/login/link?token=" + secret
			return d.done(map[string]string{"path": path}, "%s", path)
		},
	}
}

// password reads the first line of stdin.
func (d *program) password() (string, error) {
	lines := bufio.NewScanner(d.In)
	if !lines.Scan() || lines.Text() == "" {
		return "", exit.Usage("missing password on stdin\n  pass it as the first line: kairosd user add NAME < password.txt")
	}
	return lines.Text(), lines.Err()
}

func (d *program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Manage API tokens", Args: cobra.NoArgs,
		Long: `Creates, lists, and revokes API tokens. Without a subcommand, it lists them. kairosd serve
may be running or stopped.`,
		Example: "  kairosd token\n  kairosd token create --role operator --name ci",
		RunE:    accountLists{d}.listTokens,
	}
	var role, name, lifetime string
	var scopes []string
	create := &cobra.Command{
		Use: "create", Short: "Create an API token", Args: cobra.NoArgs,
		Long: "Creates an API token and prints it once. The token expires after --lifetime (default 90 days).",
		Example: "  kairosd token create --data /var/lib/kairos --role operator --name ci\n" +
			"  kairosd token create --role viewer --lifetime 24h\n" +
			"  kairosd token create --role viewer --scope metrics --name prometheus",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := parseRole(role)
			if err != nil {
				return err
			}
			var life time.Duration
			if lifetime != "" {
				if life, err = time.ParseDuration(lifetime); err != nil {
					return exit.Usage("invalid --lifetime %q\n  use a duration, such as 720h", lifetime)
				}
			}
			if name == "" {
				name = fmt.Sprintf("%s-%s", role, time.Now().UTC().Format("20060102-150405"))
			}
			return d.withAccounts(cmd.Context(), func(a accounts) error {
				text, t, err := a.CreateToken(cmd.Context(), assemble.LocalActor(), name, r, scopes, life)
				if err != nil {
					return err
				}
				if d.json {
					return d.Print(map[string]any{"token": text, "id": t.ID, "name": t.Name, "role": t.Role, "expiresAt": t.ExpiresAt})
				}
				d.Printf("%s\n", text)
				return nil
			})
		},
	}
	create.Flags().StringVar(&role, "role", "operator", "viewer, operator, author, or admin")
	create.Flags().StringVar(&name, "name", "", "purpose of the token")
	create.Flags().StringSliceVar(&scopes, "scope", nil, "limit the token to a scope; repeatable: "+
		strings.Join(domain.Scopes, ", ")+", mcp:PLAN")
	create.Flags().StringVar(&lifetime, "lifetime", "", "lifetime, such as 720h (default 90 days)")
	list := &cobra.Command{
		Use: "list", Short: "List tokens", Args: cobra.NoArgs, Long: "Lists all tokens, also revoked ones, without their secrets.",
		Example: "  kairosd token list", RunE: accountLists{d}.listTokens,
	}
	reason := ""
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token", Args: cobra.ExactArgs(1),
		Long:    "Revokes a token immediately. The reason is stored in the audit log.",
		Example: `  kairosd token revoke 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason "the laptop was stolen"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.withAccounts(cmd.Context(), func(a accounts) error {
				if err := a.RevokeToken(cmd.Context(), assemble.LocalActor(), args[0], reason); err != nil {
					return err
				}
				return d.done(map[string]any{"id": args[0], "revoked": true}, "token %s is revoked", args[0])
			})
		},
	}
	revoke.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	cmd.AddCommand(create, list, revoke)
	return cmd
}

// listTokens lists API tokens.
func (d accountLists) listTokens(cmd *cobra.Command, _ []string) error {
	return d.withAccounts(cmd.Context(), func(a accounts) error {
		tokens, err := a.Tokens(cmd.Context())
		if err != nil {
			return err
		}
		items, rows := []map[string]any{}, [][]string{}
		for _, t := range tokens {
			state, from := "active", ""
			switch {
			case t.Unsealed:
				state = "not valid: changed by another program"
			case !t.RevokedAt.IsZero():
				state = "revoked " + cli.Stamp(t.RevokedAt)
			case t.ExpiresAt.Before(time.Now()):
				state = "expired"
			}
			item := map[string]any{
				"id":        t.ID,
				"name":      t.Name,
				"role":      t.Role,
				"scopes":    append([]string{}, t.Scopes...),
				"prefix":    t.Prefix,
				"status":    state,
				"createdAt": t.CreatedAt,
				"expiresAt": t.ExpiresAt,
			}
			if !t.LastUsedAt.IsZero() {
				from = cmp.Or(t.LastUsedFrom, "local socket")
				item["lastUsedAt"], item["lastUsedFrom"] = t.LastUsedAt, from
			}
			items = append(items, item)
			rows = append(
				rows,
				[]string{t.ID, t.Name, string(t.Role), strings.Join(t.Scopes, ","), t.Prefix + "…", cli.Stamp(t.ExpiresAt),
					cli.Stamp(t.LastUsedAt), from, state},
			)
		}
		return d.listed(
			items,
			[]string{"TOKEN", "NAME", "ROLE", "SCOPES", "PREFIX", "EXPIRES", "LAST USED", "FROM", "STATUS"},
			rows,
			"no tokens",
		)
	})
}
