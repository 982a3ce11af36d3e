package kairos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

func (c auditCommands) group() *cobra.Command {
	return command.Group("audit", "Search the audit log", c.listCommand, c.auditShow())
}

func (c auditCommands) listCommand() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "list [FILTER]", Short: "Search the audit log",
		Long: `Lists the actions of people, programs, and the engine, newest first. The filter takes
the terms actor: action: object: result: source: ip: request: run: since: until:. A comma
means "one of", a dash "not", and a star at the end of an action or object any ending.
Checkpoints are listed only with run: or action:checkpoint. With --json, it prints one
object per line.`,
		Example: "  kairos audit since:24h\n  kairos audit result:denied actor:marta,ana\n" +
			"  kairos audit 'action:run.* -action:run.status' --limit 0 --json > actions.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, problem := filter.ParseAudit(strings.Join(args, " "), time.Now())
			if problem != nil {
				return problem
			}
			return c.With(cmd, func(b *client.Client) error { return c.printEvents(cmd.Context(), b, f, limit) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of items; 0: all")
	return cmd
}

// printEvents prints events page by page, at most limit of them; 0: all.
func (c auditCommands) printEvents(ctx context.Context, b *client.Client, f domain.AuditFilter, limit int) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	var rows [][]string
	shown := 0
	for {
		f.Page.Limit = 200
		if limit > 0 {
			f.Page.Limit = min(200, limit-shown)
		}
		list, err := b.AuditEvents(ctx, f)
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if c.JSON {
				if err := enc.Encode(apitypes.AuditEventOf(e)); err != nil {
					return err
				}
				continue
			}
			rows = append(rows, []string{strconv.FormatInt(e.Seq, 10), cli.Stamp(e.At), cmp.Or(e.Result, "ok"), e.Action, e.Actor,
				domain.ShortID(e.Run), e.Object, strings.TrimSpace(e.Source + " " + e.Request.Address), e.Reason})
		}
		if shown += len(list.Items); list.Next == "" || limit > 0 && shown >= limit {
			c.Table([]string{"EVENT", "TIME", "RESULT", "ACTION", "ACTOR", "RUN", "OBJECT", "FROM", "REASON"}, rows)
			if shown == 0 {
				c.Notef("no events found\n")
			}
			return nil
		}
		f.Page.After = list.Next
	}
}

func (c auditCommands) auditShow() *cobra.Command {
	return &cobra.Command{
		Use: "show EVENT", Short: "Show an event of the audit log", Args: cobra.ExactArgs(1),
		Long:    "Prints one event of the audit log. EVENT is its number, the first column of the list.",
		Example: "  kairos audit show 4711\n  kairos audit show 4711 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || seq < 1 {
				return exit.Usage("invalid event %q\n  use the number that kairos audit prints", args[0])
			}
			return c.With(cmd, func(b *client.Client) error {
				e, err := b.AuditEvent(cmd.Context(), seq)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(apitypes.AuditEventOf(e))
				}
				facts := [][2]string{{"time", e.At.Format(time.RFC3339Nano)}, {"action", e.Action}, {"result", cmp.Or(e.Result, "ok")},
					{"actor", e.Actor}, {"interface", e.Source}, {"address", e.Request.Address}, {"request", e.Request.ID}, {"run", e.Run},
					{"object", e.Object}, {"reason", e.Reason}, {"mac", e.Mac}}
				if e.RunSeq > 0 {
					facts = append(facts, [2]string{"journal rows", fmt.Sprintf("%d to %d", max(e.FirstSeq, 1), e.RunSeq)})
				}
				c.Facts(fmt.Sprintf("event %d", e.Seq), facts)
				if len(e.Detail) > 0 {
					c.Printf("detail: %s\n", command.IndentJSON(e.Detail, ""))
				}
				return nil
			})
		},
	}
}
