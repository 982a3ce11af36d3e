package walk

import "github.com/kairosd/kairosd/planner/jsonvalue"

// rejectedWith reports whether the failure is a person's rejection of the node.
func (n *ProgramNode) rejectedWith(f *Failure) bool {
	return n.Type == TypeApproval && f != nil && f.Code == CodeRejected
}

// Answered is what a person's answer makes of a node of type approval: its output, or
// the failure of a rejection that the node does not continue after. The output is
// {answer, approved, by, comment, values}; answer is the id of the answer.
func (n *ProgramNode) Answered(answer string, approved bool, by, comment string, values any) (map[string]any, *Failure) {
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

// ApprovalOutput is what a handler's answer makes of a node: that of a node of type approval
// may be a rejection.
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
		if approved, said := m["approved"].(bool); bad != nil || !ok || !said || approved {
			return output, nil
		}
		by, _ = m["by"].(string)
		if id, ok := m["answer"].(string); ok {
			answer = id
		}
		comment, _ = m["comment"].(string)
		values = m["values"]
	}
	out, f := n.Answered(answer, false, by, comment, values)
	if f != nil {
		if err != nil {
			f.Message, f.Text = rejected.Message, rejected.Text
		}
		return nil, f
	}
	return out, nil
}
