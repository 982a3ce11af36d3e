package kairos

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// systemCommand looks after a daemon.
func (c serverCommands) systemCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "system", Short: "Say how a daemon does; read its log, back it up, let it rest", Args: cobra.NoArgs,
		Long: `Says how a daemon and its data are: what works and waits, storage, backups, holds,
jobs. With --json, the installation and its vitals as the API gives them. It needs a
daemon: --server, or one that serves the database file.`,
		Example: "  kairos system\n  kairos system log --level WARN\n  kairos system maintenance on --reason \"the ERP is down until 06:00\"\n  kairos system backup",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(k *client.Client) error {
				i, err := k.Installation(cmd.Context())
				if err != nil {
					return err
				}
				v, err := k.Vitals(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"installation": i, "vitals": v})
				}
				c.system(i, v)
				return nil
			})
		},
	}
	cmd.AddCommand(c.systemLog(), c.systemMaintenance(), c.systemBackup())
	return cmd
}

func (c serverCommands) system(i domain.Installation, v domain.Vitals) {
	c.Printf("kairosd %s on %s\n", i.Version, i.Host)
	free := size(i.Storage.Free)
	if i.Storage.Needs > 0 {
		free += ": full until " + size(i.Storage.Needs) + " are free; work waits, kairosd retention removes old runs"
	}
	facts := [][2]string{{"started", cli.Stamp(i.Started)}, {"starts in 7 days", fmt.Sprintf("%d, %d after a death without a goodbye", i.Starts, i.UncleanStarts)},
		{"runs", fmt.Sprintf("%d of %d slots, %d queued", v.Working, v.Slots, v.Queued)}, {"steps", fmt.Sprintf("%d of %d slots", v.Nodes, v.NodeSlots)},
		{"database", size(i.Storage.Database) + ", " + size(i.Storage.WAL) + " of log"}, {"disk free", free}, {"examined", cli.Stamp(i.CheckedAt)}, {"finding", i.Finding}, {"safe mode", i.Safe}, {"storage stopped", i.Failed},
		{"at the next start", strings.Join(i.ConfigLater, ", ")}, {"not taken up", i.ConfigError}}
	if m := i.Maintenance; m != nil {
		facts = append(facts, [2]string{"maintenance", strings.TrimSpace(fmt.Sprintf("since %s by %s: %s", cli.Stamp(m.Since), m.By, m.Reason))})
	}
	if i.Held > 0 || i.Hold != nil {
		facts = append(facts, [2]string{"held", fmt.Sprintf("%d runs; kairos release --all lets them go on", i.Held)})
	}
	last := "none"
	if len(i.Backups) > 0 {
		last = cli.Stamp(i.Backups[0].Created)
	}
	facts = append(facts, [2]string{"last backup", last})
	for _, r := range i.Retention {
		facts = append(facts, [2]string{"retention", r})
	}
	c.facts(facts)
	rows := [][]string{}
	for _, j := range i.Jobs {
		state := "waits"
		if j.Running {
			state = "runs"
		}
		rows = append(rows, []string{j.Name, state, j.Every.String(), cli.Stamp(j.LastAt), took(j.Took), cli.Stamp(j.NextAt), j.Error})
	}
	c.Table([]string{"JOB", "STATE", "EVERY", "LAST", "TOOK", "NEXT", "ERROR"}, rows)
}

func (c serverCommands) systemLog() *cobra.Command {
	level := ""
	cmd := &cobra.Command{
		Use: "log [TEXT]", Short: "Print the newest lines of a daemon's log", Args: cobra.MaximumNArgs(1),
		Long:    "Prints the newest lines that a daemon logged, oldest first, with secrets masked; with TEXT only those that hold it. With --json, one object per line.",
		Example: "  kairos system log\n  kairos system log --level WARN\n  kairos system log 7qx2 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch level = strings.ToUpper(level); level {
			case "", "DEBUG", "INFO", "WARN", "ERROR":
			default:
				return exit.Usage("unknown level %q (DEBUG, INFO, WARN, ERROR)", level)
			}
			text := strings.Join(args, " ")
			return c.with(cmd, func(k *client.Client) error {
				lines, err := k.Log(cmd.Context(), level, text)
				if err != nil {
					return err
				}
				for i := len(lines) - 1; i >= 0; i-- {
					l := lines[i]
					if c.json {
						if err := c.Print(l); err != nil {
							return err
						}
						continue
					}
					c.Printf("%s  %-5s %s %s\n", l.At.UTC().Format("2006-01-02 15:04:05.000Z"), l.Level, cli.FirstLine(l.Message), cli.FirstLine(l.Facts))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&level, "level", "", "this level or worse: DEBUG, INFO, WARN or ERROR")
	return cmd
}

func (c serverCommands) systemMaintenance() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "maintenance on|off", Short: "Let no step start on a daemon, or let them start again", Args: cobra.ExactArgs(1), ValidArgs: []string{"on", "off"},
		Long: `While maintenance is on, no step of any run starts. What runs finishes; runs can be
created, looked at, decided and cancelled. It outlasts restarts of the daemon.
"kairosd maintenance" does the same at the machine, also while no daemon runs.`,
		Example: "  kairos system maintenance on --reason \"the ERP is down until 06:00\"\n  kairos system maintenance off",
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "on" && args[0] != "off" {
				return exit.Usage("say: kairos system maintenance on, or off")
			}
			return c.with(cmd, func(k *client.Client) error {
				m, err := k.Maintain(cmd.Context(), args[0] == "on", reason)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"maintenance": m})
				}
				if m == nil {
					c.Printf("no maintenance: steps start\n")
					return nil
				}
				c.Printf("maintenance since %s, by %s: %s\n", m.Since.Format(time.RFC3339), m.By, cli.FirstLine(m.Reason))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log and for whoever looks")
	return cmd
}

func (c serverCommands) systemBackup() *cobra.Command {
	return &cobra.Command{
		Use: "backup", Short: "Let a daemon make a verified backup", Args: cobra.NoArgs,
		Long:    "Makes a verified backup in the daemon's directory for backups, beside those that are there. \"kairosd backup FILE\" writes one where you say.",
		Example: "  kairos system backup",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(k *client.Client) error {
				b, err := k.BackUp(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(b)
				}
				c.Printf("backup of %s: %s, verified up to audit event %d\n", cli.Stamp(b.Created), size(b.Bytes), b.AuditSeq)
				return nil
			})
		},
	}
}
