package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Answer is one of the answers that a node of type approval declares.
type Answer struct {
	ID    string // unique in the node; `last.answer` is this
	Label string // what people read; empty: the id
	Kind  string // approve and choice complete the step, reject rejects it
}

// maxAnswers is how many answers one approval may declare.
const maxAnswers = 8

var answerID = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// Answers reads the `answers` of an approval's input; nil: it declares none, and takes
// approve and reject. path and fix say where an error is, and how it is mended.
func Answers(input any) (list []Answer, path []string, fix string, err error) {
	m, _ := input.(map[string]any)
	if m["answers"] == nil {
		return nil, nil, "", nil
	}
	const shape = "write a list of {id, label, kind}"
	path = []string{"answers"}
	items, ok := m["answers"].([]any)
	if !ok {
		return nil, path, shape, fmt.Errorf("answers must be a list")
	}
	if n := len(items); n < 2 || n > maxAnswers {
		return nil, path, fmt.Sprintf("declare 2 to %d answers", maxAnswers), fmt.Errorf("an approval cannot have %d answers", n)
	}
	decides := false
	for i, item := range items {
		at := append(slices.Clone(path), fmt.Sprint(i))
		a, ok := item.(map[string]any)
		if !ok {
			return nil, at, shape, fmt.Errorf("answer %d is not an object", i+1)
		}
		for key := range a {
			if !slices.Contains([]string{"id", "label", "kind"}, key) {
				return nil, at, "known keys: id, label, kind", fmt.Errorf("unknown key %s in answer %d", jsonvalue.Quote(key), i+1)
			}
		}
		x := Answer{}
		if x.ID, _ = a["id"].(string); !answerID.MatchString(x.ID) {
			return nil, at, "write a lowercase word of at most 40 letters, digits, _ and -",
				fmt.Errorf("answer %d has the invalid id %s", i+1, jsonvalue.Quote(jsonvalue.Text(a["id"])))
		}
		if slices.ContainsFunc(list, func(o Answer) bool { return o.ID == x.ID }) {
			return nil, at, "give each answer an id of its own", fmt.Errorf("duplicate answer %s", jsonvalue.Quote(x.ID))
		}
		if x.Label, ok = a["label"].(string); a["label"] != nil && (!ok || strings.TrimSpace(x.Label) == "" || len(x.Label) > 80) {
			return nil, at, "write a text of at most 80 bytes",
				fmt.Errorf("answer %s has an invalid label", jsonvalue.Quote(x.ID))
		}
		if x.Kind, _ = a["kind"].(string); !slices.Contains([]string{"approve", "reject", "choice"}, x.Kind) {
			return nil, at, "write kind: approve, reject, or choice",
				fmt.Errorf("answer %s has the unknown kind %s", jsonvalue.Quote(x.ID), jsonvalue.Quote(jsonvalue.Text(a["kind"])))
		}
		decides = decides || x.Kind != "choice"
		list = append(list, x)
	}
	if !decides {
		return nil, path, "declare an answer of kind approve or reject", fmt.Errorf("none of the answers approves or rejects")
	}
	if m["on_timeout"] == "approve" && !slices.ContainsFunc(list, func(a Answer) bool { return a.Kind == "approve" }) {
		return nil, []string{"on_timeout"}, "declare an answer of kind approve, or write on_timeout: reject or fail", fmt.Errorf("on_timeout is approve, and no answer approves")
	}
	return list, nil, "", nil
}
