package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// Answer is one of the answers that a step of type approval declares.
type Answer struct {
	ID    string // unique in the step; `last.answer` holds it
	Label string // shown to people; empty means the ID
	Kind  string // approve and choice complete the step, reject rejects it
}

// maxAnswers is how many answers one approval may declare.
const maxAnswers = 8

var answerID = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// AnswersError is a mistake in the answers that an approval declares.
type AnswersError struct {
	// Path leads from the input of the approval to the mistake: keys, and indexes of lists.
	Path                []string
	Message, Suggestion message.Message
}

func (e *AnswersError) Error() string { return e.Message.String() }

// Answers reads the `answers` of an approval's input. The result is nil if it declares none, which
// means approve and reject. The error is an [*AnswersError].
func Answers(input any) ([]Answer, error) {
	var list []Answer
	m, _ := input.(map[string]any)
	if m["answers"] == nil {
		return nil, nil
	}
	shape := message.New("write a list of {id, label, kind}")
	path := []string{"answers"}
	items, ok := m["answers"].([]any)
	if !ok {
		return nil, &AnswersError{path, message.New("answers must be a list"),
			shape}
	}
	if n := len(items); n < 2 || n > maxAnswers {
		return nil, &AnswersError{path, message.New("an approval cannot have %d answers", n),
			message.New("declare 2 to %d answers", maxAnswers)}
	}
	decides := false
	for i, item := range items {
		at := append(slices.Clone(path), fmt.Sprint(i))
		a, ok := item.(map[string]any)
		if !ok {
			return nil, &AnswersError{at, message.New("answer %d is not an object", i+1),
				shape}
		}
		for key := range a {
			if !slices.Contains([]string{"id", "label", "kind"}, key) {
				return nil, &AnswersError{at, message.New("unknown key %s in answer %d", jsonvalue.Quote(key), i+1),
					message.New("known keys: id, label, kind")}
			}
		}
		x := Answer{}
		if x.ID, _ = a["id"].(string); !answerID.MatchString(x.ID) {
			return nil, &AnswersError{at, message.New("answer %d has the invalid id %s", i+1, jsonvalue.Quote(jsonvalue.Text(a["id"]))),
				message.New("write a lowercase word of at most 40 letters, digits, _ and -")}
		}
		if slices.ContainsFunc(list, func(o Answer) bool { return o.ID == x.ID }) {
			return nil, &AnswersError{at, message.New("duplicate answer %s", jsonvalue.Quote(x.ID)),
				message.New("give each answer a unique id")}
		}
		if x.Label, ok = a["label"].(string); a["label"] != nil && (!ok || strings.TrimSpace(x.Label) == "" || len(x.Label) > 80) {
			return nil, &AnswersError{at, message.New("answer %s has an invalid label", jsonvalue.Quote(x.ID)),
				message.New("write a text of at most 80 bytes")}
		}
		if x.Kind, _ = a["kind"].(string); !slices.Contains([]string{"approve", "reject", "choice"}, x.Kind) {
			return nil, &AnswersError{
				at,
				message.New("answer %s has the unknown kind %s", jsonvalue.Quote(x.ID), jsonvalue.Quote(jsonvalue.Text(a["kind"]))),
				message.New("write kind: approve, reject, or choice"),
			}
		}
		decides = decides || x.Kind != "choice"
		list = append(list, x)
	}
	if !decides {
		return nil, &AnswersError{path, message.New("no answer approves or rejects"),
			message.New("declare an answer of kind approve or reject")}
	}
	if m["on_timeout"] == "approve" && !slices.ContainsFunc(list, func(a Answer) bool { return a.Kind == "approve" }) {
		return nil, &AnswersError{[]string{"on_timeout"}, message.New("on_timeout is approve, but no answer approves"),
			message.New("declare an answer of kind approve, or write on_timeout: reject or fail")}
	}
	return list, nil
}
