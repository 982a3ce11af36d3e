package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/exit"
)

// plainUsage makes the commands of a tree report the missing or unexpected argument with the usage
// line. Cobra only reports their number.
func plainUsage(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		plainUsage(sub)
	}
	check := cmd.Args
	if check == nil || !cmd.HasParent() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, ok := errors.AsType[*exit.Status](err); err == nil || ok {
			return err
		}
		usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
		names := arguments(cmd.Use)
		if i := len(args); i < len(names) {
			return exit.Usage("missing argument %s\n  usage: %s", names[i], usage)
		}
		if cmd.HasSubCommands() {
			return err // an unknown subcommand
		}
		return exit.Usage("unexpected argument %q\n  usage: %s", args[min(len(names), len(args)-1)], usage)
	}
}

// arguments returns the required arguments of a usage line.
func arguments(use string) (names []string) {
	words := strings.Fields(use)[1:]
	for _, w := range words {
		if strings.HasPrefix(w, "[") || strings.HasPrefix(w, "-") || w == "|" {
			break
		}
		names = append(names, strings.TrimSuffix(w, "…"))
	}
	return names
}

var (
	exclusive = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
	together  = regexp.MustCompile(`^if any flags in the group \[(.*)\] are set they must all be set`)
	required  = regexp.MustCompile(`^required flag\(s\) "([^"]+)"`)
)

// flagsError rewrites an error of cobra about flags.
func flagsError(err error) string {
	text := err.Error()
	if m := exclusive.FindStringSubmatch(text); m != nil {
		return "use either " + joinFlags(m[1], "or") + ", not both"
	}
	if m := together.FindStringSubmatch(text); m != nil {
		return "use " + joinFlags(m[1], "and") + " together"
	}
	if m := required.FindStringSubmatch(text); m != nil {
		return "missing flag --" + m[1]
	}
	return text
}

func joinFlags(names, word string) string {
	list := strings.Fields(names)
	for i := range list {
		list[i] = "--" + list[i]
	}
	if last := len(list) - 1; last > 0 {
		list = slices.Concat(list[:last-1], []string{list[last-1] + " " + word + " " + list[last]})
	}
	return strings.Join(list, ", ")
}
