package kairos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

func (c serverCommands) group() *cobra.Command {
	cmd := c.statusCommand()
	cmd.Use, cmd.Short = "server", "Show server status, logs, and maintenance"
	cmd.AddCommand(c.statusCommand(), c.logsCommand(), c.maintenanceCommand(), c.backupCommand(), c.releaseCommand())
	return cmd
}

func (c serverCommands) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show server status", Args: cobra.NoArgs,
		Long: `Shows the status of a server: active and queued runs, storage, backups, held runs, and
background jobs. It requires a server: --server, or one that has the database open.`,
		Example: "  kairos server\n  kairos server --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(k *client.Client) error {
				i, err := k.Server(cmd.Context())
				if err != nil {
					return err
				}
				v, err := k.HealthMetrics(cmd.Context())
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(map[string]any{"server": i, "metrics": v})
				}
				c.status(i, v)
				return nil
			})
		},
	}
}

// releaseCommand ends a hold. With a database in this process, the runs continue when kairosd
// starts or when each is resumed, because a command executes only its own run.
func (c serverCommands) releaseCommand() *cobra.Command {
	var plan, reason string
	cmd := &cobra.Command{
		Use: "release", Short: "Release all runs held since a restore", Args: cobra.NoArgs,
		Long: `Releases all runs that are held since a restore, and ends the hold. With --plan, it
releases the runs of one plan, and the hold stays.`,
		Example: "  kairos server release --reason \"checked\"\n  kairos server release --plan report",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				n, err := b.ReleaseHeld(cmd.Context(), plan, reason)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(map[string]any{"released": n})
				}
				c.Printf("%s released\n", command.Counted(n, "run"))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&plan, "plan", "", "only runs of this plan")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c serverCommands) status(i domain.Server, v domain.HealthMetrics) {
	free := cli.Size(i.Storage.Free)
	if i.Storage.Needs > 0 {
		free += "; runs wait until " + cli.Size(i.Storage.Needs) + " are free; kairosd retention deletes expired runs"
	}
	facts := [][2]string{{"host", i.Host}, {"started", cli.Stamp(i.Started)},
		{"starts in 7 days", fmt.Sprintf("%d, %d after a crash", i.Starts, i.UncleanStarts)},
		{"runs", fmt.Sprintf("%d of %d slots, %d queued", v.Working, v.Slots, v.Queued)},
		{"steps", fmt.Sprintf("%d of %d slots", v.Nodes, v.NodeSlots)},
		{"database", cli.Size(i.Storage.Database) + ", " + cli.Size(i.Storage.WAL) + " write-ahead log"}, {"free disk space", free},
		{"integrity check", cli.Stamp(i.CheckedAt)}, {"finding", i.Finding}, {"safe mode", i.Safe}, {"storage error", i.Failed},
		{"settings that need a restart", strings.Join(i.ConfigLater, ", ")}, {"configuration error", i.ConfigError}}
	if m := i.Maintenance; m != nil {
		facts = append(
			facts,
			[2]string{"maintenance", strings.TrimSpace(fmt.Sprintf("since %s by %s: %s", cli.Stamp(m.Since), m.By, m.Reason))},
		)
	}
	if w := i.Workers; w != nil {
		facts = append(facts, [2]string{"workers", cmp.Or(strings.Join(w.Serving(), ", "), "none")})
		for _, p := range w.Problems {
			facts = append(facts, [2]string{"problem", cli.FirstLine(p)})
		}
	}
	if i.Held > 0 || i.Hold != nil {
		facts = append(facts, [2]string{"held since a restore", command.Counted(i.Held, "run") +
			"; release them: " + c.Command("server release")})
	}
	last := "none"
	if len(i.Backups) > 0 {
		last = cli.Stamp(i.Backups[0].Created)
	}
	facts = append(facts, [2]string{"last backup", last})
	for _, r := range i.Retention {
		facts = append(facts, [2]string{"retention", r})
	}
	c.Facts("kairosd "+i.Version, facts)
	rows := [][]string{}
	for _, j := range i.Jobs {
		state := "idle"
		if j.Running {
			state = "active"
		}
		rows = append(
			rows,
			[]string{
				j.Name,
				state,
				j.Every.Duration().String(),
				cli.Stamp(j.LastAt),
				cli.Took(j.Took.Duration()),
				cli.Stamp(j.NextAt),
				j.Error,
			},
		)
	}
	c.Table([]string{"JOB", "STATUS", "EVERY", "LAST", "DURATION", "NEXT", "ERROR"}, rows)
}

func (c serverCommands) logsCommand() *cobra.Command {
	level := ""
	cmd := &cobra.Command{
		Use: "logs [TEXT]", Short: "Show the newest log lines of a server", Args: cobra.MaximumNArgs(1),
		Long: `Prints the newest log lines of a server, oldest first, with secrets masked. With TEXT, it
prints only lines that contain TEXT. With --json, it prints one object per line.`,
		Example: "  kairos server logs\n  kairos server logs --level WARN\n  kairos server logs 7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch level = strings.ToUpper(level); level {
			case "", "DEBUG", "INFO", "WARN", "ERROR":
			default:
				return exit.Usage("unknown level %q\n  use DEBUG, INFO, WARN, or ERROR", level)
			}
			text := strings.Join(args, " ")
			return c.With(cmd, func(k *client.Client) error {
				lines, err := k.Log(cmd.Context(), level, text)
				if err != nil {
					return err
				}
				for _, l := range slices.Backward(lines) {
					if err := c.Done(l, "%s  %-5s %s %s", l.At.UTC().Format("2006-01-02 15:04:05.000Z"), l.Level,
						cli.FirstLine(l.Message), cli.FirstLine(l.Facts)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&level, "level", "", "minimum level: DEBUG, INFO, WARN, or ERROR")
	return cmd
}

func (c serverCommands) maintenanceCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "maintenance on|off", Short: "Pause or resume all execution", Args: cobra.ExactArgs(1), ValidArgs: []string{"on", "off"},
		Long: `During maintenance, no step of any run starts. Active steps finish. You can still
create, read, approve, and cancel runs. Maintenance survives restarts of the server.
"kairosd maintenance" does the same on the host, also while the server is stopped.`,
		Example: "  kairos server maintenance on --reason \"the ERP is down until 06:00\"\n  kairos server maintenance off",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "on" && args[0] != "off" {
				return exit.Usage("invalid argument %q\n  use on or off", args[0])
			}
			return c.With(cmd, func(k *client.Client) error {
				m, err := k.Maintain(cmd.Context(), args[0] == "on", reason)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(map[string]any{"maintenance": m})
				}
				if m == nil {
					c.Printf("no maintenance\n")
					return nil
				}
				c.Printf("maintenance since %s by %s: %s\n", cli.Stamp(m.Since), m.By, cmp.Or(cli.FirstLine(m.Reason), "no reason given"))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log and for other operators")
	return cmd
}

func (c serverCommands) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup", Short: "Create a verified backup", Args: cobra.NoArgs,
		Long: `Creates a verified backup in the backup directory of the server. "kairosd backup FILE"
writes a backup to a file.`,
		Example: "  kairos server backup",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(k *client.Client) error {
				b, err := k.BackUp(cmd.Context())
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(b)
				}
				c.Printf("backup of %s: %s, verified up to audit event %d\n", cli.Stamp(b.Created), cli.Size(b.Bytes), b.AuditSeq)
				return nil
			})
		},
	}
}
