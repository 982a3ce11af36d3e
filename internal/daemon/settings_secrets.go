package daemon

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// secretRotated is the audit action of a secret whose new value was applied.
const secretRotated = "secret.rotate"

// secrets lists the secrets of the configuration by name: first those that plans may refer to, then
// the keys that kairosd itself uses. A variable or file that several settings use is listed once.
func (s *settings) secrets(ctx context.Context) ([]domain.SecretInfo, error) {
	out := []domain.SecretInfo{}
	at := map[string]int{} // by source
	w := s.now()
	for _, name := range slices.Sorted(maps.Keys(w.cfg.Secrets)) {
		c := w.cfg.Secrets[name]
		info := domain.SecretInfo{
			Name:     name,
			Source:   sourceOf(c.Env, c.File),
			Tools:    append([]string{}, c.Tools...),
			Hosts:    append([]string{}, c.Hosts...),
			UsedBy:   []domain.SecretUse{},
			Rotates:  c.File != "",
			LoadedAt: w.secrets.TakenAt(name),
		}
		if c.File != "" {
			if st, err := os.Stat(c.File); err == nil {
				info.ChangedAt = st.ModTime().UTC()
				info.Pending = info.ChangedAt.After(info.LoadedAt)
			}
		}
		var err error
		if info.Plans, err = s.plansNaming(ctx, name); err != nil {
			return nil, err
		}
		at[info.Source] = len(out)
		out = append(out, info)
	}
	for _, n := range w.cfg.Named {
		use, env, file := keyOf(n.Key, n.Value)
		if use.Kind == "" {
			continue
		}
		source := sourceOf(env, file)
		i, known := at[source]
		if !known {
			i = len(out)
			at[source] = i
			info := domain.SecretInfo{
				Name:   n.Value,
				Source: source,
				Tools:  []string{},
				Hosts:  []string{},
				Plans:  []string{},
				UsedBy: []domain.SecretUse{},
			}
			if st, err := os.Stat(file); file != "" && err == nil {
				info.ChangedAt = st.ModTime().UTC()
				info.Pending = info.ChangedAt.After(w.at)
			}
			out = append(out, info)
		}
		if !slices.Contains(out[i].UsedBy, use) {
			out[i].UsedBy = append(out[i].UsedBy, use)
		}
	}
	return out, nil
}

func sourceOf(env, file string) string {
	if file != "" {
		return "file " + file
	}
	return "environment variable " + env
}

// keyOf reports whether a setting names the source of a key: what the key is for, and its
// environment variable or file. An empty use means that it does not.
func keyOf(key, value string) (use domain.SecretUse, env, file string) {
	parts := strings.Split(key, ".")
	if len(parts) < 2 || value == "" {
		return use, "", ""
	}
	last := parts[len(parts)-1]
	switch {
	case parts[0] == "mcp" && len(parts) > 3 && (strings.HasPrefix(parts[3], "env_from") || parts[3] == "headers_from"):
		return domain.SecretUse{Kind: "mcp", Name: parts[2]}, value, ""
	case strings.HasSuffix(last, "_env"):
		env = value
	case slices.Contains([]string{"api_key_file", "client_secret_file", "url_file", "secret_file", "password_file"}, last):
		file = value
	default:
		return use, "", ""
	}
	switch parts[0] {
	case "providers":
		use = domain.SecretUse{Kind: "provider", Name: parts[1]}
	case "login":
		use = domain.SecretUse{Kind: "login", Name: "oidc"}
	case "notifications":
		use = domain.SecretUse{Kind: "channel", Name: parts[min(2, len(parts)-2)]}
	case "telemetry":
		use = domain.SecretUse{Kind: "telemetry", Name: "telemetry"}
	}
	return use, env, file
}

// plansNaming returns the keys of plans whose newest version refers to a secret.
func (s *settings) plansNaming(ctx context.Context, name string) ([]string, error) {
	out := []string{}
	if s.store == nil {
		return out, nil
	}
	list, err := s.store.Plans(
		ctx,
		domain.PlanFilter{
			Facts: []domain.PlanFact{{Kind: domain.FactSecret, Value: name}},
			Page:  domain.Page{Limit: domain.MaxSecretPlans},
		},
	)
	if err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		out = append(out, p.Key)
	}
	return out, nil
}

// RotateSecret reads the current value of a secret's file. Only administrators may do it. A
// change and a failure are recorded.
func (s *settings) RotateSecret(ctx context.Context, actor domain.Actor, name, reason string) error {
	record := domain.AuditRecord{
		Action:  secretRotated,
		Actor:   actor.Name,
		Source:  actor.Source,
		Request: actor.Request,
		Object:  "secret:" + name,
		Reason:  reason,
	}
	changed, err := s.now().secrets.Rotate(name)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && !changed {
		return err
	}
	if err != nil {
		record.Result, record.Reason = "failed", err.Error()
	}
	if auditErr := s.store.Audit(context.WithoutCancel(ctx), record); err == nil {
		err = auditErr
	}
	return err
}
