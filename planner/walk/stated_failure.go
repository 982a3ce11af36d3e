package walk

import "github.com/kairosd/kairosd/planner/jsonvalue"

// StatedFailure returns the failure that a node of type fail states in its input: {code, message}. The
// code defaults to [CodePlanFailed]. The failure is permanent, and nothing has changed outside.
func StatedFailure(input any) *Failure {
	fields, _ := input.(map[string]any)
	f := &Failure{Code: CodePlanFailed, Permanent: true, NoEffect: true}
	if code, ok := fields["code"].(string); ok && ValidID(code) {
		f.Code = code
	}
	text := "the plan ends the run here"
	if m := fields["message"]; m != nil {
		text = jsonvalue.Text(m)
	}
	return f.WithMessage("%s", text)
}
