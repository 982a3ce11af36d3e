package domain

import "strings"

// MaxLabels is how many labels a run may have.
const MaxLabels = 32

// CheckLabels refuses labels that no run may have: CodeInvalid.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return Errorf(CodeInvalid, "a run has at most %d labels", MaxLabels)
	}
	for k, v := range labels {
		if k == "" || len(k) > 64 || len(v) > 256 || strings.ContainsAny(k, "=\x00\n\r") || strings.ContainsAny(v, "\x00\n\r") {
			return Errorf(CodeInvalid, "label %.64q is not valid", k).
				Suggest("names have 1 to 64 bytes without =, values up to 256, both on one line")
		}
	}
	return nil
}
