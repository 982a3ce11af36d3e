package planner

import (
	"regexp"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
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
func checkSecrets(t *source.Tree, node string, r *reporter) {
	switch t.Kind {
	case source.String:
		if what := inlineSecret(t.Text); !what.IsZero() {
			r.Error(t, node, "secret.inline",
				message.New("store it as a secret, refer to it as ${secret.NAME}, and replace the exposed key"), "the plan contains %s",
				what)
		}
	case source.List:
		for _, e := range t.Items {
			checkSecrets(e, node, r)
		}
	case source.Map:
		for i, k := range t.Keys {
			checkSecrets(k, node, r)
			checkSecrets(t.Items[i], node, r)
		}
	}
}

// checkDocumentSecrets is checkSecrets with the node of each problem.
func checkDocumentSecrets(t *source.Tree, r *reporter) {
	if t.Kind != source.Map {
		return
	}
	for i, k := range t.Keys {
		switch v := t.Items[i]; {
		case (k.Text == "nodes" || k.Text == "finally") && v.Kind == source.Map:
			for j, id := range v.Keys {
				checkSecrets(v.Items[j], id.Text, r)
			}
		case k.Text == "steps" && v.Kind == source.List:
			for _, s := range v.Items {
				id := ""
				if e := s.Get("id"); e != nil {
					id = e.Text
				}
				checkSecrets(s, id, r)
			}
		default:
			checkSecrets(v, "", r)
		}
	}
}
