package arch

import (
	"regexp"
	"strings"
	"testing"
)

// defaults are the settings of docs/reference/configuration.md whose default is a value, and the Go code that sets it.
var defaults = []struct{ key, value, dir, source string }{
	{"providers.NAME.breaker.failures", "5", "internal/circuit", "usualFailures = 5"},
	{"providers.NAME.breaker.rest", "30s", "internal/circuit", "usualRest = 30 * time.Second"},
	{"agents[].max_iterations", "10", "internal/conversation", "DefaultMaxIterations = 10"},
	{"skills[].retry.max_attempts", "3", "planner", "defaultStepRetry = Retry{MaxAttempts: 3,"},
	{"skills[].retry.backoff_ms", "1000, 2000", "planner", "[]time.Duration{time.Second, 2 * time.Second}"},
	{"planner.mode", "`auto`", "internal/planning", `Auto Mode = "auto"`},
	{"planner.max_steps", "8", "internal/planning", "defaultMaxSteps = 8"},
	{"planner.max_tokens", "1024", "internal/planning", "tokens = 1024"},
	{"planner.temperature", "0.1", "internal/planning", "t := 0.1"},
	{"planner.max_replans", "2", "internal/engine", "cmp.Or(s.MaxReplans, 2)"},
	{"tools.http.timeout", "30s", "internal/tool", "cmp.Or(c.HTTP.Timeout, 30*time.Second)"},
	{"tools.http.max_bytes", "4194304", "internal/tool", "maxBody = 4 << 20"},
	{"tools.http.max_redirects", "5", "internal/tool", "cmp.Or(c.HTTP.MaxRedirects, 5)"},
	{"tools.files.max_bytes", "4194304", "internal/tool", "maxFile = 4 << 20"},
	{"tools.sql.timeout", "10s", "internal/tool", "cmp.Or(c.SQL.Timeout, 10*time.Second)"},
	{"tools.sql.max_rows", "1000", "internal/tool", "cmp.Or(c.SQL.MaxRows, 1000)"},
	{"tools.exec.timeout", "60s", "internal/tool", "cmp.Or(c.Exec.Timeout, time.Minute)"},
	{"tools.exec.max_bytes", "1048576", "internal/tool", "maxOutput = 1 << 20"},
	{"tools.exec.max_memory", "536870912", "internal/tool", "cmp.Or(c.Exec.MaxMemory, 512<<20)"},
	{"tools.exec.max_processes", "64", "internal/tool", "cmp.Or(c.Exec.MaxProcesses, 64)"},
	{"tools.exec.max_disk", "268435456", "internal/tool", "cmp.Or(c.Exec.MaxDisk, 256<<20)"},
	{"tools.breakers.NAME.failures", "5", "internal/circuit", "usualFailures = 5"},
	{"tools.breakers.NAME.rest", "30s", "internal/circuit", "usualRest = 30 * time.Second"},
	{"mcp.servers.NAME.timeout", "60s", "internal/mcp", "cmp.Or(s.Timeout, time.Minute)"},
	{"mcp.servers.NAME.start_timeout", "10s", "internal/mcp", "cmp.Or(s.StartTimeout, 10*time.Second)"},
	{"mcp.servers.NAME.max_bytes", "1048576", "internal/mcp", "maxResult = 1 << 20"},
	{"engine.max_running", "64", "internal/engine", "cmp.Or(s.MaxRunning, 64)"},
	{"engine.max_nodes", "256", "internal/engine", "DefaultMaxNodes = 256"},
	{"engine.temporal.lost_after", "30s", "temporal/internal/driver", "lostAfter = 30 * time.Second"},
	{"hooks.rate", "20", "internal/domain", "HookRate, HookBurst = 20, 100"},
	{"retention.every", "`1h`", "internal/daemon", "cmp.Or(mustAge(cfg.Retention.Every), time.Hour)"},
	{"backup.every", "`1d`", "internal/config", `case "": return 24 * time.Hour`},
	{"backup.daily", "7", "internal/config", "return 0, 7, 0"},
	{"server.listen", "`127.0.0.1:8080`", "internal/daemon", `DefaultListen = "127.0.0.1:8080"`},
	{"server.socket_mode", "`0600`", "internal/config", "0o600"},
	{"telemetry.every", "60s", "internal/metric", "if t.Every > 0 {"}, // else the exporter's own: a minute
	{"login.oidc.name_claim", "`preferred_username`", "internal/auth/oidc", `cmp.Or(c.NameClaim, "preferred_username")`},
	{"login.oidc.role_claim", "`groups`", "internal/auth/oidc", `cmp.Or(c.RoleClaim, "groups")`},
	{
		"notifications.channels.NAME.on", "failed, approval, in_doubt, quarantined, system", "internal/notify",
		`DefaultKinds = []string{"failed", "approval", "in_doubt", "quarantined", "system"}`,
	},
}

// The reference of the configuration shows the defaults that the code sets.
func TestDefaultsAreDocumented(t *testing.T) {
	t.Parallel()
	shown := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| ([^|]+) \\|")
	for _, m := range row.FindAllStringSubmatch(readPage(t, "configuration.md"), -1) {
		shown[m[1]] = m[2]
	}
	listed := map[string]bool{}
	for _, d := range defaults {
		listed[d.key] = true
		if shown[d.key] != d.value {
			t.Errorf("%s: docs/reference/configuration.md has %q, the code %q", d.key, shown[d.key], d.value)
		}
		if !strings.Contains(sourceOf(t, d.dir), d.source) {
			t.Errorf("%s: %s has no %q; change the default here and in docs/reference/configuration.md", d.key, d.dir, d.source)
		}
	}
	for key, value := range shown {
		if regexp.MustCompile(`^\d[\d.]*(s|m|h)?$`).MatchString(value) && value != "0" && !listed[key] {
			t.Errorf("%s: no row here compares the default %s with the code", key, value)
		}
	}
}
