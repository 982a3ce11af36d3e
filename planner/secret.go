package planner

import (
	"regexp"
	"strings"

	"github.com/kairosd/kairosd/planner/message"
)

// secretForm recognizes one kind of credential by its public format. The marker must occur in the
// text before the pattern is matched, which keeps the search fast for plans without credentials.
type secretForm struct {
	what    message.Message
	marker  string
	pattern *regexp.Regexp
}

var secretForms = []secretForm{
	{message.New("a private key"), "PRIVATE KEY-----", regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----`)},
	{
		message.New("an API key"),
		"sk-",
		regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])sk-(?:[a-z0-9]+-)*[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*[0-9][A-Za-z0-9_-]{12,}`),
	},
	{message.New("an API key"), "sk-", regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])sk-[A-Za-z0-9]{32,}`)},
	{message.New("a payment key"), "_live_", regexp.MustCompile(`(?:^|[^A-Za-z0-9])[sr]k_live_[A-Za-z0-9]{16,}`)},
	{message.New("an AWS access key"), "AKIA", regexp.MustCompile(`(?:^|[^A-Za-z0-9])AKIA[A-Z0-9]{16}(?:[^A-Za-z0-9]|$)`)},
	{message.New("an AWS access key"), "ASIA", regexp.MustCompile(`(?:^|[^A-Za-z0-9])ASIA[A-Z0-9]{16}(?:[^A-Za-z0-9]|$)`)},
	{message.New("a GitHub token"), "gh", regexp.MustCompile(`(?:^|[^A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,}`)},
	{message.New("a GitHub token"), "github_pat_", regexp.MustCompile(`github_pat_[A-Za-z0-9_]{22,}`)},
	{message.New("a GitLab token"), "glpat-", regexp.MustCompile(`glpat-[A-Za-z0-9_-]{20,}`)},
	{message.New("a Slack token"), "xox", regexp.MustCompile(`(?:^|[^A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{10,}`)},
	{message.New("a Google API key"), "AIza", regexp.MustCompile(`(?:^|[^A-Za-z0-9])AIza[A-Za-z0-9_-]{35}`)},
}

// inlineSecret returns the kind of credential that a text contains, or a zero message.
func inlineSecret(s string) message.Message {
	if len(s) < 16 {
		return message.Message{}
	}
	for _, f := range secretForms {
		if strings.Contains(s, f.marker) && f.pattern.MatchString(s) {
			return f.what
		}
	}
	return message.Message{}
}

// checkSecrets reports credentials in the document, but not in comments. A plan is stored, shown,
// and exported, which would expose them.
func checkSecrets(t *tree, node string, r *reporter) {
	switch t.kind {
	case treeString:
		if what := inlineSecret(t.text); !what.IsZero() {
			r.error(t, node, "secret.inline",
				message.New("store it as a secret, refer to it as ${secret.NAME}, and replace the exposed key"), "the plan contains %s",
				what)
		}
	case treeList:
		for _, e := range t.items {
			checkSecrets(e, node, r)
		}
	case treeMap:
		for i, k := range t.keys {
			checkSecrets(k, node, r)
			checkSecrets(t.items[i], node, r)
		}
	}
}

// checkDocumentSecrets is checkSecrets with the node of each problem.
func checkDocumentSecrets(t *tree, r *reporter) {
	if t.kind != treeMap {
		return
	}
	for i, k := range t.keys {
		switch v := t.items[i]; {
		case (k.text == "nodes" || k.text == "finally") && v.kind == treeMap:
			for j, id := range v.keys {
				checkSecrets(v.items[j], id.text, r)
			}
		case k.text == "steps" && v.kind == treeList:
			for _, s := range v.items {
				id := ""
				if e := s.get("id"); e != nil {
					id = e.text
				}
				checkSecrets(s, id, r)
			}
		default:
			checkSecrets(v, "", r)
		}
	}
}
