package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/kairosd/kairosd/planner/walk"
)

// maxEntries is the maximum number of entries of a crontab.
const maxEntries = 1000

var (
	cronLine     = regexp.MustCompile(`^(@[a-z]+|\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(\S.*)$`)
	cronField    = regexp.MustCompile(`^(@[a-z]+|[0-9A-Za-z*/,?LW#-]+(\s+[0-9A-Za-z*/,?LW#-]+){4})$`)
	cronVariable = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)
)

// crontab converts each entry of a crontab to a plan with a schedule. The file has the form of
// crontab(5) without users.
func crontab(source []byte) (drafts []*draft, err error) {
	var env []variable
	zone := ""
	used := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(source))
	lines.Buffer(nil, maxSize+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if m := cronVariable.FindStringSubmatch(line); m != nil {
			value := strings.Trim(m[2], `"'`)
			if m[1] == "CRON_TZ" || m[1] == "TZ" {
				zone = value
			} else if m[1] != "MAILTO" && m[1] != "SHELL" {
				env = append(env, variable{name: m[1], value: escape(value)})
			}
			continue
		}
		m := cronLine.FindStringSubmatch(line)
		if m == nil || !cronField.MatchString(m[1]) {
			return nil, fmt.Errorf("line %d is not an entry of a crontab", number)
		}
		if len(drafts) == maxEntries {
			return nil, errors.New("the crontab has too many entries")
		}
		drafts = append(drafts, entry(number, m[1], m[2], zone, env, used))
	}
	return drafts, lines.Err()
}

// entry converts one entry.
func entry(line int, cron, command, zone string, env []variable, used map[string]int) *draft {
	script, stdin := percent(command)
	name := ""
	if words := strings.Fields(script); len(words) > 0 {
		name = path.Base(words[0])
	}
	id := slug(name, "job")
	if used[id]++; used[id] > 1 {
		id = fmt.Sprintf("%s-%d", id, used[id])
	}
	d := newDraft(id)
	d.graph.Description = escape(oneLine(command))
	if cron == "@reboot" {
		d.note(line, "@reboot has no counterpart: start the plan when the machine starts")
	} else {
		d.graph.Schedule = &walk.Schedule{Cron: cron, Zone: zone}
	}
	n := shell(escape(script), env)
	if stdin != "" {
		n.Input.(map[string]any)["stdin"] = escape(stdin)
	}
	d.add("run-command", n)
	return d
}

// percent splits a command at its first percent sign, after which comes the standard input. Further
// percent signs are ends of lines, and \% is a percent sign.
func percent(command string) (script, stdin string) {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && i+1 < len(command) && command[i+1] == '%':
			part.WriteByte('%')
			i++
		case command[i] == '%':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(command[i])
		}
	}
	parts = append(parts, part.String())
	if len(parts) == 1 {
		return parts[0], ""
	}
	return parts[0], strings.Join(parts[1:], "\n")
}
