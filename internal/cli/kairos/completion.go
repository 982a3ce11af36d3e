package kairos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
)

// completionTimeout bounds how long a shell waits for the completion of a word.
const completionTimeout = 2 * time.Second

// completed adds completion of run ids, plan keys, approvals, and statuses to a
// tree of commands, by the words of their usage lines.
func (c *program) completed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.completed(sub)
	}
	if _, words, ok := strings.Cut(cmd.Use, " "); ok && cmd.ValidArgsFunction == nil {
		switch word, _, _ := strings.Cut(words, " "); {
		case strings.HasPrefix(word, "RUN"):
			cmd.ValidArgsFunction = c.completion(c.runIDs, cobra.ShellCompDirectiveNoFileComp)
		case strings.HasPrefix(word, "PLAN"):
			cmd.ValidArgsFunction = c.completion(c.planKeys, cobra.ShellCompDirectiveNoFileComp)
		case strings.HasPrefix(word, "FILE|PLAN"):
			cmd.ValidArgsFunction = c.completion(c.planKeys, cobra.ShellCompDirectiveDefault)
		case strings.HasPrefix(word, "APPROVAL"):
			cmd.ValidArgsFunction = c.completion(c.approvalIDs, cobra.ShellCompDirectiveNoFileComp)
		}
	}
	for name, list := range map[string]func(context.Context, *client.Client) ([]string, error){"plan": c.planKeys, "status": statuses} {
		f := cmd.Flags().Lookup(name)
		if f == nil || f.Value.Type() != "string" || name == "status" && cmd.CommandPath() != "kairos runs" &&
			cmd.CommandPath() != "kairos runs list" {
			continue
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if cmd.Name() == "run" {
			directive = cobra.ShellCompDirectiveDefault
		}
		if err := cmd.RegisterFlagCompletionFunc(name, c.completion(list, directive)); err != nil {
			panic(err) // the flag was looked up above
		}
	}
}

func (c *program) completion(list func(context.Context, *client.Client) ([]string, error),
	directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if c.server == "" && !datadir.Exists(c.database()) {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		quiet := *c
		quiet.quiet = true
		b, err := quiet.connect(ctx)
		if err != nil {
			return nil, directive
		}
		defer c.close(b)
		words, err := list(ctx, b)
		if err != nil {
			return nil, directive
		}
		return slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, prefix) }), directive
	}
}

// completions is how many words a completion offers.
const completions = 50

func (c *program) runIDs(ctx context.Context, b *client.Client) (out []string, err error) {
	list, err := b.Runs(ctx, domain.RunFilter{Page: domain.Page{Limit: completions}})
	for _, r := range list.Items {
		out = append(out, fmt.Sprintf("%s\t%s %s", r.ID, r.PlanKey, r.Status),
			fmt.Sprintf("%s\t%s %s", domain.ShortID(r.ID), r.PlanKey, r.Status))
	}
	return out, err
}

func (c *program) planKeys(ctx context.Context, b *client.Client) (out []string, err error) {
	list, err := b.Plans(ctx, domain.PlanFilter{Page: domain.Page{Limit: completions}})
	for _, p := range list.Items {
		out = append(out, p.Key+"\t"+cli.FirstLine(p.Name))
	}
	return out, err
}

func (c *program) approvalIDs(ctx context.Context, b *client.Client) (out []string, err error) {
	list, err := b.Approvals(ctx, domain.ApprovalFilter{Status: "open", Page: domain.Page{Limit: completions}})
	for _, a := range list.Items {
		out = append(out, a.ID+"\t"+cli.FirstLine(a.Message))
	}
	return out, err
}

func statuses(context.Context, *client.Client) (out []string, err error) {
	for _, s := range domain.RunStatuses {
		out = append(out, string(s))
	}
	return out, nil
}
