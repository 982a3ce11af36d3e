// Package complete completes the arguments and flags of commands in a shell.
package complete

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// timeout bounds how long a shell waits for the completion of a word.
const timeout = 2 * time.Second

// lister lists the words that complete an argument; args are the ones before it.
type lister func(ctx context.Context, b *client.Client, args []string) ([]string, error)

// listers are the words that complete an argument, by its name in the usage line of a
// command, or by the command and the name.
var listers = map[string]lister{
	"RUN": runIDs, "PLAN": planKeys, "FILE|PLAN": planKeys, "APPROVAL": approvalIDs, "OPERATION": operationIDs, "DRAFT": draftIDs,
	"AGENT": agentIDs, "TOOL": toolNames, "PROVIDER": providerNames, "SERVER": toolServers, "SESSION": sessionNames,
	"STEP": stepsInDoubt, "VERSION": planVersions, "FROM": planVersions, "TO": planVersions,
	"SCHEDULE": scheduleKeys, "HOOK": hookKeys, "DELIVERY": deliveryIDs, "SIGNAL": signalIDs, "signals NAME": signalNames,
	"views NAME": viewNames, "tools NAME": toolNames, "providers NAME": providerNames,
	"approvals NAME": userNames, "EVENT": auditEvents, "doubts STEP": stepsInDoubtOfPlan,
}

// flagListers are the words that complete a flag, by the command and its name, or by its name.
var flagListers = map[string]lister{
	"plan": planKeys, "view": viewNames, "provider": providerNames, "agent": agentIDs, "tool": toolNames, "session": sessionNames,
	"for": userNames, "owner": userNames, "kairos runs doubts step": allStepsInDoubt, "kairos failures ack step": failedSteps,
	"kairos failures unack step": failedSteps,
}

// Completer completes words for a shell.
type Completer struct {
	// Connect returns a client and a function that closes it. The client is nil if there is no database yet.
	Connect func(ctx context.Context) (b *client.Client, closeAll func(), err error)
	// Words are the fixed words that complete a flag, by the command and its name. They need no database.
	Words map[string][]string
}

// Add adds completion of arguments and flags to a tree of commands.
func (c Completer) Add(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.Add(sub)
	}
	if cmd.HasParent() && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		cmd.ValidArgsFunction = c.argument
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words, ok := c.Words[cmd.CommandPath()+" "+f.Name]; ok {
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
			return c.words(cmd, list, args, prefix), directive
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

// argument completes the next argument of a command.
func (c Completer) argument(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	name := cli.ArgumentAt(cmd.Use, len(args))
	list, ok := listers[cmd.Parent().Name()+" "+name]
	if !ok {
		list = listers[name]
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if strings.HasPrefix(name, "FILE") || name == "" {
		directive = cobra.ShellCompDirectiveDefault
	}
	return c.words(cmd, list, args, prefix), directive
}

// words lists the words with a prefix. If they cannot be listed in time, there are none.
func (c Completer) words(cmd *cobra.Command, list lister, args []string, prefix string) []string {
	if list == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
	defer cancel()
	b, closeAll, err := c.Connect(ctx)
	if b == nil || err != nil {
		return nil
	}
	defer closeAll()
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

func hookKeys(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, _, err := b.Hooks(ctx, domain.HookFilter{Page: domain.Page{Limit: completions}})
	for _, h := range list {
		out = append(out, described(h.Key, string(h.Scheme)))
	}
	return out, err
}

// deliveryIDs lists deliveries to the hook in the first argument.
func deliveryIDs(ctx context.Context, b *client.Client, args []string) (out []string, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	list, _, err := b.HookDeliveries(ctx, domain.DeliveryFilter{Hook: args[0], Page: domain.Page{Limit: completions}})
	for _, d := range list {
		out = append(out, described(d.ID, fmt.Sprintf("%s %s", d.Status, d.Key)))
	}
	return out, err
}

func signalIDs(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, _, err := b.Signals(ctx, domain.SignalFilter{Page: domain.Page{Limit: completions}})
	for _, s := range list {
		out = append(out, described(s.ID, fmt.Sprintf("%s %s", s.Name, s.Status)))
	}
	return out, err
}

// signalNames lists the signals that runs wait for.
func signalNames(ctx context.Context, b *client.Client, _ []string) (out []string, err error) {
	list, _, err := b.SignalWaits(ctx, domain.WaitFilter{Page: domain.Page{Limit: completions}})
	for _, w := range list {
		out = append(out, described(w.Name, "run "+domain.ShortID(w.Run)+" of "+w.Plan))
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
