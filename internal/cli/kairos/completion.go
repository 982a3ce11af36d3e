package kairos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
)

// completionTimeout bounds how long a shell waits for the completion of a word.
const completionTimeout = 2 * time.Second

// lister lists the words that complete an argument; args are the ones before it.
type lister func(ctx context.Context, b *client.Client, args []string) ([]string, error)

// listers are the words that complete an argument, by its name in the usage line of a
// command, or by the command and the name.
var listers = map[string]lister{
	"RUN": runIDs, "PLAN": planKeys, "FILE|PLAN": planKeys, "APPROVAL": approvalIDs, "OPERATION": operationIDs, "DRAFT": draftIDs,
	"AGENT": agentIDs, "TOOL": toolNames, "PROVIDER": providerNames, "SERVER": toolServers, "SESSION": sessionNames,
	"STEP": stepsInDoubt, "VERSION": planVersions, "FROM": planVersions, "TO": planVersions,
	"SCHEDULE": scheduleKeys, "views NAME": viewNames, "tools NAME": toolNames, "providers NAME": providerNames,
	"approvals NAME": userNames, "EVENT": auditEvents, "doubts STEP": stepsInDoubtOfPlan,
}

// flagListers are the words that complete a flag, by the command and its name, or by its name.
var flagListers = map[string]lister{
	"plan": planKeys, "view": viewNames, "provider": providerNames, "agent": agentIDs, "tool": toolNames, "session": sessionNames,
	"for": userNames, "owner": userNames, "kairos runs doubts step": allStepsInDoubt, "kairos failures ack step": failedSteps,
	"kairos failures unack step": failedSteps,
}

// flagWords are the fixed words that complete a flag. They need no database.
var flagWords = map[string][]string{
	"kairos runs status": runStatuses(), "kairos runs list status": runStatuses(),
	"kairos approvals status": approvalStates, "kairos approvals list status": approvalStates,
	"kairos server logs level": {"DEBUG", "INFO", "WARN", "ERROR"}, "kairos runs steps sort": {"took"},
	"kairos spend by": apitypes.SpendBy, "kairos spend period": spendPeriods,
	"kairos schedules status": scheduleStates, "kairos schedules list status": scheduleStates,
	"kairos plans graph format": {"mermaid", "dot", "svg"}, "kairos plans convert to": {"yaml", "json"},
	"kairos operations show status": {"pending", "acted", "refused"},
	"kairos ask priority":           {"low", "medium", "high"}, "kairos run on-conflict": {"queue", "skip", "cancel_oldest"},
}

// completer completes words for a shell.
type completer struct{ *program }

// completed adds completion of arguments and flags to a tree of commands.
func (c completer) completed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.completed(sub)
	}
	if cmd.HasParent() && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		cmd.ValidArgsFunction = c.completeArgument
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words, ok := flagWords[cmd.CommandPath()+" "+f.Name]; ok {
			must(cmd.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, prefix string) ([]string,
				cobra.ShellCompDirective) {
				return withPrefix(words, prefix), cobra.ShellCompDirectiveNoFileComp
			}))
			return
		}
		list, ok := flagListers[cmd.CommandPath()+" "+f.Name]
		if !ok {
			list, ok = flagListers[f.Name]
		}
		if !ok || f.Value.Type() != "string" {
			return
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if cmd.Name() == "run" && f.Name == "plan" {
			directive = cobra.ShellCompDirectiveDefault
		}
		must(cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, args []string, prefix string) ([]string,
			cobra.ShellCompDirective) {
			return c.complete(cmd, list, args, prefix), directive
		}))
	})
}

// must panics with an error of a registration. Only a flag that does not exist causes one.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// withPrefix returns the words that begin with a prefix.
func withPrefix(words []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, prefix) })
}

// completeArgument completes the next argument of a command.
func (c completer) completeArgument(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	name := cli.ArgumentAt(cmd.Use, len(args))
	list, ok := listers[cmd.Parent().Name()+" "+name]
	if !ok {
		list = listers[name]
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if strings.HasPrefix(name, "FILE") || name == "" {
		directive = cobra.ShellCompDirectiveDefault
	}
	return c.complete(cmd, list, args, prefix), directive
}

// complete lists the words with a prefix. If they cannot be listed in time, there are none.
func (c completer) complete(cmd *cobra.Command, list lister, args []string, prefix string) []string {
	if list == nil || c.server == "" && !datadir.Exists(c.database()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	quiet := *c.program
	quiet.quiet = true
	b, err := quiet.connect(ctx)
	if err != nil {
		return nil
	}
	defer c.close(b)
	words, err := list(ctx, b, args)
	if err != nil {
		return nil
	}
	return withPrefix(words, prefix)
}

// completions is how many words a completion offers.
const completions = 50

// described is a word with its description.
func described(word, description string) string { return word + "\t" + cli.FirstLine(description) }

func runIDs(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Runs(ctx, domain.RunFilter{Page: domain.Page{Limit: completions}})
	for _, r := range list.Items {
		about := fmt.Sprintf("%s %s", r.PlanKey, r.Status)
		out = append(out, described(r.ID, about), described(domain.ShortID(r.ID), about))
	}
	return out, err
}

func planKeys(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Plans(ctx, domain.PlanFilter{Page: domain.Page{Limit: completions}})
	for _, p := range list.Items {
		out = append(out, described(p.Key, p.Name))
	}
	return out, err
}

func scheduleKeys(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, _, err := b.Schedules(ctx, domain.ScheduleFilter{Page: domain.Page{Limit: completions}})
	for _, s := range list {
		out = append(out, described(s.Key, s.Cron))
	}
	return out, err
}

func planVersions(ctx context.Context, b *client.Client, args []string) (out []string, err error) {
	list, err := b.Versions(ctx, args[0])
	for _, v := range list {
		out = append(out, described(strconv.Itoa(v.Number), v.Reason))
	}
	return out, err
}

func approvalIDs(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Approvals(ctx, domain.ApprovalFilter{Status: "pending", Page: domain.Page{Limit: completions}})
	for _, a := range list.Items {
		out = append(out, described(a.ID, a.Message))
	}
	return out, err
}

func operationIDs(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Bulks(ctx, completions)
	for _, a := range list {
		out = append(out, described(a.ID, fmt.Sprintf("%s %s", a.Action, a.State)))
	}
	return out, err
}

func draftIDs(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Drafts(ctx, false, completions)
	for _, d := range list {
		out = append(out, described(d.ID, d.Query))
	}
	return out, err
}

func stepsInDoubt(ctx context.Context, b *client.Client, args []string) (out []string, err error) {
	r, err := b.FindRun(ctx, args[0])
	if err != nil {
		return nil, err
	}
	v, err := b.View(ctx, r.ID)
	for _, w := range v.Waits {
		if w.Reason == domain.WaitInDoubt {
			out = append(out, described(w.Node, w.Message))
		}
	}
	return out, err
}

// userNames lists users. Only an admin can read them.
func userNames(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Users(ctx)
	for _, u := range list {
		out = append(out, described(u.Name, string(u.Role)))
	}
	return out, err
}

func auditEvents(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.AuditEvents(ctx, domain.AuditFilter{Page: domain.Page{Limit: completions}})
	for _, e := range list.Items {
		out = append(out, described(strconv.FormatInt(e.Seq, 10), e.Action+" "+e.Object))
	}
	return out, err
}

// stepsInDoubtOfPlan lists the steps in doubt of the plan in the first argument.
func stepsInDoubtOfPlan(ctx context.Context, b *client.Client, args []string) (out []string, err error) {
	list, err := b.Doubts(ctx, domain.DoubtFilter{Plan: args[0], Page: domain.Page{Limit: completions}})
	for _, d := range list.Items {
		out = append(out, described(d.Node, d.Plan.Key))
	}
	return distinct(out), err
}

func allStepsInDoubt(ctx context.Context, b *client.Client, _ []string) ([]string, error) {
	return stepsInDoubtOfPlan(ctx, b, []string{""})
}

func failedSteps(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.FailureGroups(ctx, completions)
	for _, g := range list {
		out = append(out, described(g.Node, g.Plan.Key))
	}
	return distinct(out), err
}

func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

func agentIDs(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Agents(ctx)
	for _, a := range list {
		out = append(out, described(a.ID, a.Name))
	}
	return out, err
}

func toolNames(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Tools(ctx)
	for _, t := range list {
		out = append(out, described(t.Name, t.Description))
	}
	return out, err
}

func toolServers(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.ToolServers(ctx)
	for _, s := range list {
		out = append(out, described(s.Name, s.State))
	}
	return out, err
}

func providerNames(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Providers(ctx)
	for _, p := range list {
		out = append(out, described(p.Name, p.Type))
	}
	return out, err
}

func sessionNames(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.MemorySessions(ctx, "", domain.Page{Limit: completions})
	for _, s := range list.Items {
		out = append(out, described(s.Session, ""))
	}
	return out, err
}

func viewNames(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, err := b.Views(ctx)
	for _, v := range list {
		out = append(out, described(v.Name, v.Query))
	}
	return out, err
}

func runStatuses() (out []string) {
	for _, s := range domain.RunStatuses {
		out = append(out, string(s))
	}
	return out
}
