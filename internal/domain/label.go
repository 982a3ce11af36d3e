package domain

import (
	"encoding/json"
	"strings"
)

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

// LabelRecord is the audit record of labels that a run gets, without who gives them.
func LabelRecord(run string, labels map[string]string, reason string) AuditRecord {
	detail, err := json.Marshal(labels)
	if err != nil {
		detail = nil // a map of texts always encodes
	}
	return AuditRecord{Action: "run.label", Object: "run:" + run, Reason: reason, Detail: detail}
}
