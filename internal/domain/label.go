package domain

import (
	"encoding/json"
	"strings"
)

// MaxLabels is the maximum number of labels of a run.
const MaxLabels = 32

// CheckLabels returns an error with CodeInvalid for invalid labels.
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

// LabelRecord returns the audit record of labels that are added to a run, without the actor.
func LabelRecord(run string, labels map[string]string, reason string) AuditRecord {
	detail, err := json.Marshal(labels)
	if err != nil {
		detail = nil // a map of strings can always be encoded
	}
	return AuditRecord{Action: "run.label", Object: "run:" + run, Reason: reason, Detail: detail}
}
