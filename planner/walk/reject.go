package walk

import "github.com/kairosd/kairosd/planner/jsonvalue"

// rejectedWith reports whether the failure is a rejection of the node by a person.
func (n *ProgramNode) rejectedWith(f *Failure) bool {
	return n.Type == TypeApproval && f != nil && f.Code == CodeRejected
}

// AnswerOutput returns the output of an approval that a person answered. The output is {answer,
// approved, by, comment, values}, where answer is the ID of the answer. A rejection is a failure,
// unless the node has on_reject: continue.
func (n *ProgramNode) AnswerOutput(answer string, approved bool, by, comment string, values any) (map[string]any, *Failure) {
	if !approved && n.OnReject != OnRejectContinue {
		f := &Failure{Code: CodeRejected, Node: n.ID, Permanent: true, NoEffect: true}
		switch {
		case by != "" && comment != "":
			f.WithMessage("rejected by %s: %s", by, comment)
		case by != "":
			f.WithMessage("rejected by %s", by)
		case comment != "":
			f.WithMessage("rejected: %s", comment)
		default:
			f.WithMessage("rejected")
		}
		return nil, f
	}
	return map[string]any{"answer": answer, "approved": approved, "by": by, "comment": comment, "values": values}, nil
}

// ApprovalOutput converts the result of a handler. The result of a node of type approval may be a
// rejection, which is a failure unless the node has on_reject: continue. Other results are returned
// unchanged.
func (n *ProgramNode) ApprovalOutput(output any, err error) (any, error) {
	if n.Type != TypeApproval {
		return output, err
	}
	var by, comment string
	answer := "reject"
	var values any
	var rejected *Failure
	if err != nil {
		f := AsFailure(err)
		if f.Code != CodeRejected {
			return nil, err
		}
		comment, rejected = f.Message, f
	} else {
		normal, bad := jsonvalue.Normalize(output)
		m, ok := normal.(map[string]any)
		if approved, present := m["approved"].(bool); bad != nil || !ok || !present || approved {
			return output, nil
		}
		by, _ = m["by"].(string)
		if id, ok := m["answer"].(string); ok {
			answer = id
		}
		comment, _ = m["comment"].(string)
		values = m["values"]
	}
	out, f := n.AnswerOutput(answer, false, by, comment, values)
	if f != nil {
		if err != nil {
			f.Message, f.Text = rejected.Message, rejected.Text
		}
		return nil, f
	}
	return out, nil
}
