// Package importer converts workflows of other systems to plans. What has no counterpart becomes a
// step that fails, so that no imported plan leaves out work in silence. A note names each such place.
package importer

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Plan is an imported plan.
type Plan struct {
	ID     string `json:"id"`
	Source []byte `json:"-"`     // the document, in YAML
	Notes  []Note `json:"notes"` // what was not carried over
}

// Note names something that was not carried over.
type Note struct {
	Line int    `json:"line"` // in the imported file, from 1
	Text string `json:"text"`
}

// maxSize is the maximum size of a file in bytes.
const maxSize = 1 << 20

// Import converts a file: a GitHub Actions workflow, a Dagu workflow, a graph of LangGraph in JSON, or
// a crontab. It returns the name of that format, and the plans: one, except of a crontab, which has a
// plan for each line.
//
// Errors: invalid (the format is not known, or the file is damaged).
func Import(file string, source []byte) (format string, plans []Plan, err error) {
	if len(source) > maxSize {
		return "", nil, domain.Errorf(domain.CodeInvalid, "%s has %d bytes; at most %d are allowed", file, len(source), maxSize)
	}
	id := slug(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "imported")
	root, yamlErr := read(source)
	var p *draft
	switch {
	case yamlErr == nil && root.get("jobs").isMap():
		format, p = "GitHub Actions workflow", actions(id, root)
	case yamlErr == nil && root.get("steps").is() && !root.get("nodes").is():
		format, p = "Dagu workflow", dagu(id, root)
	case yamlErr == nil && root.get("nodes").isList() && root.get("edges").isList():
		format, p = "graph of LangGraph", langGraph(id, root)
	default:
		entries, cronErr := crontab(source)
		if cronErr != nil || len(entries) == 0 {
			return "", nil, unknown(file, yamlErr)
		}
		for _, d := range entries {
			plan, err := d.plan(file, "crontab")
			if err != nil {
				return "", nil, err
			}
			plans = append(plans, plan)
		}
		return "crontab", plans, nil
	}
	plan, err := p.plan(file, format)
	return format, []Plan{plan}, err
}

func unknown(file string, yamlErr error) error {
	err := domain.Errorf(domain.CodeInvalid, "%s is none of the formats that kairos imports", file)
	if yamlErr != nil && !errors.Is(yamlErr, errNotObject) {
		err = domain.Errorf(domain.CodeInvalid, "%s: %v", file, yamlErr)
	}
	return err.Suggest("import a GitHub Actions workflow, a Dagu workflow, a graph of LangGraph in JSON, or a crontab")
}

// draft is a plan that is being built.
type draft struct {
	graph planner.Graph
	order []string // IDs of the nodes in the order of the file
	notes []Note
}

func newDraft(id string) *draft {
	return &draft{graph: planner.Graph{ID: id, Nodes: map[string]planner.Node{}}}
}

// note names something that was not carried over.
func (d *draft) note(line int, format string, args ...any) {
	d.notes = append(d.notes, Note{Line: line, Text: fmt.Sprintf(format, args...)})
}

// noteKeys names the given keys of a node that are not carried over.
func (d *draft) noteKeys(n node, known ...string) {
	for _, key := range n.keys() {
		if !slices.Contains(known, key.text()) {
			d.note(key.line(), "%s has no counterpart", key.text())
		}
	}
}

// todo returns a node that fails, in place of something that has no counterpart.
func (d *draft) todo(line int, format string, args ...any) planner.Node {
	text := fmt.Sprintf(format, args...)
	d.note(line, "%s", text)
	return planner.Node{Type: walk.TypeFail, Input: map[string]any{"code": "not_imported", "message": escape(text)}}
}

// add adds a node under an ID that is not used yet, and returns the ID.
func (d *draft) add(id string, n planner.Node) string {
	base := slug(id, "step")
	id = base
	for i := 2; ; i++ {
		if _, used := d.graph.Nodes[id]; !used {
			break
		}
		id = fmt.Sprintf("%s-%d", base, i)
	}
	d.graph.Nodes[id] = n
	d.order = append(d.order, id)
	return id
}

// finally adds a node that runs at the end.
func (d *draft) finally(id string, n planner.Node) {
	if d.graph.Finally == nil {
		d.graph.Finally = map[string]planner.Node{}
	}
	d.graph.Finally[id] = n
}

// plan encodes the plan, with its notes as comments, and checks it.
func (d *draft) plan(file, format string) (Plan, error) {
	text, err := d.graph.Encode(planner.FormatYAML)
	if err != nil {
		return Plan{}, err
	}
	if text, err = ordered(text, d.order); err != nil {
		return Plan{}, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Imported from %s, a %s.\n", oneLine(filepath.Base(file)), format)
	for _, n := range d.notes {
		fmt.Fprintf(&out, "# Line %d: %s\n", n.Line, oneLine(n.Text))
	}
	out.Write(text)
	if _, problems := planner.Parse(out.Bytes(), planner.WithFormat(planner.FormatYAML)); problems.Err() != nil {
		return Plan{}, domain.Errorf(domain.CodeInvalid, "%s cannot be written as a plan: %v", file, problems.Err())
	}
	return Plan{ID: d.graph.ID, Source: out.Bytes(), Notes: d.notes}, nil
}

// ordered puts the nodes of a document in an order.
func ordered(document []byte, order []string) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	nodes := node{root.Content[0]}.get("nodes").n
	if nodes == nil {
		return document, nil
	}
	byID := map[string][]*yaml.Node{}
	for i := 0; i+1 < len(nodes.Content); i += 2 {
		byID[nodes.Content[i].Value] = nodes.Content[i : i+2]
	}
	var content []*yaml.Node
	for _, id := range order {
		content = append(content, byID[id]...)
	}
	nodes.Content = content
	return yaml.Dump(&root, yaml.WithIndent(2), yaml.WithLineWidth(-1))
}

func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 // ends of lines in YAML
	}), " ")
	if runes := []rune(s); len(runes) > 200 {
		s = string(runes[:200]) + "…"
	}
	return s
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// reserved are names that no step can have.
var reserved = []string{"input", "memory", "last", "item", "index", "run", "secret", "output", "status", "value"}

// slug returns an ID that resembles a name.
func slug(name, otherwise string) string {
	s := strings.Trim(notInID.ReplaceAllString(name, "-"), "-")
	if len(s) > 60 {
		s = strings.TrimRight(s[:60], "-")
	}
	if s == "" {
		s = otherwise
	}
	if slices.Contains(reserved, s) {
		s += "-step"
	}
	return s
}

// escape returns a text without references: ${ becomes $${.
func escape(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// variable is a variable of the environment. Its value is a template. If it is expanded, the shell
// replaces variables and commands in the value.
type variable struct {
	name, value string
	expanded    bool
}

var validVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// execType is the type of nodes that run a command.
const execType = "exec"

// pass adds a variable to a node of shell. Line breaks at the end of its value are removed.
func pass(n planner.Node, name, value string) {
	input := n.Input.(map[string]any)
	args := append(input["args"].([]any), value)
	args[2] = fmt.Sprintf("export %s=\"$(printf %%s \"$${%d}\")\"\n%s", name, len(args)-4, args[2])
	input["args"] = args
}

// shell returns a node that runs a script. The variables are passed as arguments, so that their values
// cannot change the script. The script is a template.
func shell(script string, env []variable) planner.Node {
	var head strings.Builder
	args := []any{"-e", "-c", "", "sh"}
	for i, v := range env {
		switch {
		case !validVariable.MatchString(v.name), slices.Contains(env[:i], v):
		case v.expanded:
			fmt.Fprintf(&head, "export %s=\"%s\"\n", v.name, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v.value))
		default:
			args = append(args, v.value)
			fmt.Fprintf(&head, "export %s=\"$${%d}\"\n", v.name, len(args)-4)
		}
	}
	args[2] = head.String() + script
	return planner.Node{Type: execType, Input: map[string]any{"command": "/bin/sh", "args": args}}
}

// cut removes duplicates, and keeps the order.
func cut(list []string) (out []string) {
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
