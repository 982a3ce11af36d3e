package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
)

// approvalsCommand is the inbox: what is asked, with the exact arguments of
// calls.
func (c *app) approvalsCommand() *cobra.Command {
	var f kairos.ApprovalFilter
	cmd := &cobra.Command{
		Use: "approvals", Short: "List open questions", Args: cobra.NoArgs,
		Long:    "Lists what waits for a person, newest first: questions of approval nodes, and calls of tools that ask first, with their exact arguments.",
		Example: "  kairos approvals\n  kairos approvals --status rejected --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				if c.json {
					items := []asked{}
					for _, p := range list.Items {
						items = append(items, asked{p.ID, p.Run, p.PlanKey, p.Node, p.Visit, p.Item, p.Message, p.Tool, p.Arguments, p.Digest, p.Status, p.CreatedAt, p.DueAt})
					}
					return c.print(map[string]any{"items": items})
				}
				for _, p := range list.Items {
					c.printf("%s  %s · %s · run %s · since %s\n  %s\n", p.ID, p.PlanKey, p.Node, kairos.ShortID(p.Run), p.CreatedAt.Format(time.RFC3339), p.Message)
					if p.Tool != "" {
						c.printf("  %s %s\n", p.Tool, indentJSON(p.Arguments, "  "))
					}
				}
				if len(list.Items) == 0 {
					c.printf("nothing waits for a decision\n")
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.Status, "status", "open", "open, approved, rejected, expired or cancelled")
	cmd.Flags().IntVar(&f.Page.Limit, "limit", 50, "at most so many")
	return cmd
}

// asked is a question as `kairos approvals --json` prints it.
type asked struct {
	ID        string         `json:"id"`
	Run       string         `json:"run"`
	Plan      string         `json:"plan"`
	Node      string         `json:"node"`
	Visit     int            `json:"visit"`
	Item      int            `json:"item"`
	Message   string         `json:"message"`
	Tool      string         `json:"tool,omitempty"`
	Arguments kairos.RawJSON `json:"arguments,omitempty"`
	Digest    string         `json:"digest"`
	Status    string         `json:"status"`
	CreatedAt time.Time      `json:"createdAt"`
	DueAt     time.Time      `json:"dueAt,omitzero"`
}

// indentJSON lays out a stored value for reading; its text is never markup or
// control sequences, because JSON escapes those.
func indentJSON(raw kairos.RawJSON, prefix string) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, prefix, "  ") != nil {
		return strings.ToValidUTF8(string(raw), "")
	}
	return b.String()
}
