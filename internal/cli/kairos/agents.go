package kairos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

func (c agentCommands) group() *cobra.Command {
	return command.Group("agents", "List agents", c.listCommand, c.agentShow())
}

func (c agentCommands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List agents", Args: cobra.NoArgs,
		Long: `Lists the agents of the configuration with model, tools, and the calls of the last
24 hours.`,
		Example: "  kairos agents\n  kairos agents --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Agents(cmd.Context())
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, a := range list {
					rows = append(rows, []string{a.ID, a.Name, command.Yes(a.Default), modelOf(cmp.Or(a.Provider, a.A2A), a.Model),
						calls(a.Activity), strings.Join(a.Tools, ", "), a.Description})
				}
				return c.ListOf(list, "", []string{"AGENT", "NAME", "DEFAULT", "MODEL", "CALLS", "TOOLS", "DESCRIPTION"}, rows,
					"no agents are configured")
			})
		},
	}
}

func (c agentCommands) agentShow() *cobra.Command {
	return &cobra.Command{
		Use: "show AGENT", Short: "Show an agent", Args: cobra.ExactArgs(1),
		Long: `Prints the model, prompt, tools, and capabilities of an agent, and statistics of its
calls in the last 24 hours.`,
		Example: "  kairos agents show support",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Agents(cmd.Context())
				if err != nil {
					return err
				}
				a, err := command.Named(list, args[0], "agent", "kairos agents", func(a domain.AgentInfo) string { return a.ID })
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(a)
				}
				c.Facts("agent "+a.ID, slices.Concat([][2]string{{"name", a.Name}, {"description", a.Description},
					{"model", modelOf(cmp.Or(a.Provider, a.A2A), a.Model)}, {"tools", strings.Join(a.Tools, ", ")},
					{"capabilities", strings.Join(a.Capabilities, ", ")}, {"default", command.Yes(a.Default)},
					{"available to planners", command.Yes(a.Selectable)},
					{"part of kairosd", command.Yes(a.System)}}, activity(a.Activity)))
				c.printPrompt(a.SystemPrompt)
				return nil
			})
		},
	}
}

func (c agentCommands) printPrompt(prompt string) {
	if prompt == "" {
		return
	}
	c.Printf("system prompt:\n")
	for line := range strings.Lines(prompt) {
		c.Printf("  %s\n", cli.FirstLine(line))
	}
}

func (c agentCommands) providerGroup() *cobra.Command {
	cmd := command.Group("providers", "List model providers", c.listProviders, c.providerShow())
	c.addSwitches(cmd, "provider", "openai", (*client.Client).DisableProvider,
		func(b *client.Client, ctx context.Context, name, _, reason string) error {
			return b.EnableProvider(ctx, name, reason)
		})
	return cmd
}

func (c agentCommands) listProviders() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List model providers", Args: cobra.NoArgs,
		Long: `Lists the model providers of the configuration: the result of the last call, and the
calls and tokens of the last 24 hours. The command calls no provider. After repeated
failures, the circuit of a provider opens, and kairosd stops calling it for a while.`,
		Example: "  kairos providers\n  kairos providers --server http://127.0.0.1:8080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Providers(cmd.Context())
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, p := range list {
					u := p.Activity.Usage
					rows = append(rows, []string{p.Name, command.Yes(p.Default), p.Type, p.Model, p.State, calls(p.Activity),
						fmt.Sprintf("%d + %d", u.InputTokens, u.OutputTokens), strings.Join(providerNotes(p), "; ")})
				}
				return c.ListOf(list, "", []string{"PROVIDER", "DEFAULT", "TYPE", "MODEL", "STATUS", "CALLS", "TOKENS", "NOTES"}, rows,
					"no providers are configured")
			})
		},
	}
}

func (c agentCommands) providerShow() *cobra.Command {
	return &cobra.Command{
		Use: "show PROVIDER", Short: "Show a model provider", Args: cobra.ExactArgs(1),
		Long: `Prints the models, the source of the API key, and the rate limits of a provider, and
statistics of its calls in the last 24 hours.`,
		Example: "  kairos providers show openai",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Providers(cmd.Context())
				if err != nil {
					return err
				}
				p, err := command.Named(list, args[0], "provider", "kairos providers", func(p domain.ProviderInfo) string { return p.Name })
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(p)
				}
				c.Facts("provider "+p.Name, append(providerFacts(p), activity(p.Activity)...))
				return nil
			})
		},
	}
}

func providerFacts(p domain.ProviderInfo) [][2]string {
	facts := [][2]string{{"type", p.Type}, {"address", p.BaseURL}, {"default model", p.Model},
		{"models", strings.Join(p.Models, ", ")}, {"default", command.Yes(p.Default)}, {"status", p.State},
		{"circuit", breakerNote(p.Breaker)}}
	if p.Key != nil {
		facts = append(facts, [2]string{"API key", p.Key.Source + map[bool]string{true: "", false: " (empty)"}[p.Key.Set]})
	}
	for _, n := range providerNotes(p) {
		facts = append(facts, [2]string{"note", n})
	}
	for _, l := range p.Limits {
		facts = append(facts,
			[2]string{"rate limit", fmt.Sprintf("%d of %d %s left, reported %s", l.Remaining, l.Limit, l.Of, cli.Stamp(l.At))})
	}
	return facts
}

// providerNotes is what is out of the ordinary with a provider.
func providerNotes(p domain.ProviderInfo) (notes []string) {
	if p.Disabled != nil {
		notes = append(notes, disabledNote(*p.Disabled))
	}
	if p.Circuit.Disturbed() {
		notes = append(notes, circuitNote(p.Circuit))
	}
	if p.LastError != "" {
		notes = append(notes, fmt.Sprintf("last error %s: %s", cli.Stamp(p.LastErrorAt), cli.FirstLine(p.LastError)))
	}
	return notes
}
