package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
)

func (c *app) agentsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agents", Short: "List agents", Args: cobra.NoArgs,
		Long:    "Lists the agents of the configuration: the model behind each, its tools and what it can do. The default one is marked by a star.",
		Example: "  kairos agents\n  kairos agents --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.Agents(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"items": list})
				}
				for _, a := range list {
					mark := " "
					if a.Default {
						mark = "*"
					}
					model := a.Provider
					if a.Model != "" {
						model += "/" + a.Model
					}
					c.printf("%s %-20s %-20s %-24s %s\n", mark, a.ID, firstLine(a.Name), model, firstLine(a.Description))
					if len(a.Tools) > 0 {
						c.printf("%23stools: %s\n", "", strings.Join(a.Tools, ", "))
					}
				}
				return nil
			})
		},
	}
}

func (c *app) providersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "providers", Short: "List the providers of models", Args: cobra.NoArgs,
		Long: `Lists the providers of the configuration: how the last call went, and the last
error, also from before the last start, and the calls of the last 24 hours. Nothing
is called to find out. A provider that has failed again and again
is not called for a while; the list says until when.`,
		Example: "  kairos providers\n  kairos providers --server http://127.0.0.1:8080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.Providers(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"items": list})
				}
				for _, p := range list {
					mark := " "
					if p.Default {
						mark = "*"
					}
					c.printf("%s %-16s %-10s %-24s %-8s %d calls, %d failed, %d + %d tokens\n", mark, p.Name, p.Type, p.Model, p.State, p.Activity.Calls, p.Activity.Failures, p.Activity.Usage.InputTokens, p.Activity.Usage.OutputTokens)
					if p.Stop != nil {
						c.printf("%19sstopped since %s by %s %s\n", "", p.Stop.Since.Format(time.RFC3339), p.Stop.By, firstLine(p.Stop.Reason))
					}
					switch p.Circuit {
					case "open":
						c.printf("%19snot called until %s: %d calls in a row have failed\n", "", p.OpenUntil.Format(time.RFC3339), p.FailuresInRow)
					case "half_open":
						c.printf("%19sthe next call is a trial: %d calls in a row have failed\n", "", p.FailuresInRow)
					}
					if len(p.Models) > 1 {
						c.printf("%19splans may name: %s\n", "", strings.Join(p.Models, ", "))
					}
					if p.LastError != "" {
						c.printf("%19slast error %s: %s\n", "", p.LastErrorAt.Format(time.RFC3339), firstLine(p.LastError))
					}
				}
				return nil
			})
		},
	}
	c.addStops(cmd, "provider", "openai", backend.StopProvider)
	return cmd
}

// showMessages prints what a run's agents said to each other.
func (c *app) showMessages(list []kairos.Message) {
	for _, m := range list {
		c.printf("%s  %-8s  %s → %s  %s\n", m.Metadata.Timestamp.Format("15:04:05.000"), m.Type, m.From, m.To, firstLine(clip(text(m.Payload), 100)))
	}
}

func clip(s string, letters int) string {
	if r := []rune(s); len(r) > letters {
		return string(r[:letters]) + "…"
	}
	return s
}
