package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// limit is a row of docs/reference/limits.md, and the line of Go that sets it.
type limit struct{ name, value, dir, source string }

var limits = []limit{
	{"size of a document", "1 MiB", "planner/internal/source", "MaxDocument = 1 << 20"},
	{"steps", "5,000", "planner", "MaxNodes = 5_000"},
	{"edges", "20,000", "planner", "MaxEdges = 20_000"},
	{"nesting", "64 levels", "planner/internal/source", "MaxDepth = 64"},
	{"values from YAML aliases", "10,000", "planner/internal/source", "maxAliases = 10_000"},
	{"length of a step id", "128 characters", "planner/walk", "len(s) > 128"},
	{"items of a `foreach`", "10,000", "planner/walk", "MaxItems = 10_000"},
	{"depth of sub-plans", "8", "internal/engine", "maxRecursion = 8"},
	{"answers of an approval", "2 to 8", "planner", "maxAnswers = 8"},
	{"blocks of a plan", "100, nested 7 deep", "planner", "maxBlocks = 100"},
	{"profiles of a plan", "10", "planner/internal/variants", "MaxProfiles = 10"},
	{"problems listed", "50", "planner", "maxProblems = 50"},
	{"active runs", "64 (`engine.max_running`)", "internal/engine", "cmp.Or(s.MaxRunning, 64)"},
	{"active steps", "256 (`engine.max_nodes`)", "internal/engine", "DefaultMaxNodes = 256"},
	{"attempts of a step in a step plan", "3, unless `retry` is set", "planner", "defaultStepRetry = Retry{MaxAttempts: 3,"},
	{"parallel items of a `foreach`", "8 (`max_parallel`)", "planner", "defaultMaxParallel = 8"},
	{"replans", "2 (`planner.max_replans`)", "internal/engine", "cmp.Or(s.MaxReplans, 2)"},
	{"crashes during one run before quarantine", "3", "internal/engine", "cmp.Or(o.QuarantineAfter, 3)"},
	{"time that a signal is kept for a wait", "24 hours (`keep`, at most 30 days)", "internal/domain",
		"SignalLifetime = 24 * time.Hour"},
	{"signals that no step waits for", "10,000, or 64 MiB", "internal/domain", "MaxEarlySignals = 10_000"},
	{"data of a signal", "256 KiB", "internal/domain", "MaxSignalData = 256 << 10"},
	{"name or key of a signal", "256 bytes", "internal/domain", "MaxSignalName = 256"},
	{"time that settled signals are shown", "30 days", "internal/domain", "SignalRetention = 30 * 24 * time.Hour"},
	{"body of a delivery", "1 MiB", "internal/domain", "MaxHookBody = 1 << 20"},
	{"deliveries to a hook", "20 per second, after 100 at once", "internal/domain", "HookRate, HookBurst = 20, 100"},
	{"requests to hooks from one address", "50 per second, after 200 at once", "internal/domain",
		"HookSenderRate, HookSenderBurst = 50, 200"},
	{"age of a timestamp", "5 minutes", "internal/domain", "HookTolerance = 5 * time.Minute"},
	{"time that deliveries are kept", "30 days", "internal/domain", "HookRetention = 30 * 24 * time.Hour"},
	{"stored deliveries of unverified senders", "60 per hook, then one per minute", "internal/domain", "StoredRefusals = 60"},
	{"deliveries of one replay", "1,000", "internal/domain", "MaxReplays = 1000"},
	{"files that match the pattern of a hook", "10,000", "internal/domain", "MaxWatchedFiles, MaxWatchedEntries = 10_000, 100_000"},
	{"entries of directories that one scan reads", "100,000", "internal/domain", "MaxWatchedEntries = 10_000, 100_000"},
	{"parts of a pattern below its directory", "8", "internal/domain", "MaxWatchedDepth = 8"},
	{"files that a hook delivers", "100 per second", "internal/domain", "MaxFileStarts = 100"},
	{"model calls of one step", "10 (`max_iterations`)", "internal/conversation", "DefaultMaxIterations = 10"},
	{"tool calls of one turn", "8", "internal/conversation", "maxParallelCalls = 8"},
	{"identical calls of one step", "3", "internal/conversation", "maxIdenticalCalls = 3"},
	{"handoffs of one step", "20", "internal/handler", "maxHandoffs = 20"},
	{"size of an answer", "4 MiB", "internal/model", "maxBody = 4 << 20"},
	{"wait for the first byte of an answer", "5 minutes", "internal/model", "timeouts{first: 5 * time.Minute"},
	{"wait for the next byte", "1 minute", "internal/model", "idle: time.Minute"},
	{"duration of a model call", "30 minutes", "internal/model", "total: 30 * time.Minute"},
	{"request text that an agent reads", "8,000 characters", "internal/handler", "maxRequest = 8000"},
	{"result of an earlier step that an agent reads", "4,000 characters", "internal/handler", "maxPrevious = 4000"},
	{"duration of an `http` call", "30 s", "internal/tool", "cmp.Or(c.HTTP.Timeout, 30*time.Second)"},
	{"size of an `http` response", "4 MiB after decompression", "internal/tool", "maxBody = 4 << 20"},
	{"size of a file", "4 MiB", "internal/tool", "maxFile = 4 << 20"},
	{"rows of a query", "1,000", "internal/tool", "cmp.Or(c.SQL.MaxRows, 1000)"},
	{"duration of a query", "10 s", "internal/tool", "cmp.Or(c.SQL.Timeout, 10*time.Second)"},
	{"duration of a command", "60 s", "internal/tool", "cmp.Or(c.Exec.Timeout, time.Minute)"},
	{"output stream of a command", "1 MiB", "internal/tool", "maxOutput = 1 << 20"},
	{"memory of a command", "512 MiB", "internal/tool", "cmp.Or(c.Exec.MaxMemory, 512<<20)"},
	{"processes of a command", "64", "internal/tool", "cmp.Or(c.Exec.MaxProcesses, 64)"},
	{"directory of a command", "256 MiB", "internal/tool", "cmp.Or(c.Exec.MaxDisk, 256<<20)"},
	{"tools of an MCP server", "256", "internal/mcp", "maxTools = 256"},
	{"message of an MCP server", "4 MiB", "internal/mcp", "maxFrame = 4 << 20"},
	{"request body", "4 MiB", "web", "http.MaxBytesReader(w, r.Body, 4<<20)"},
	{"request headers", "16 KiB", "internal/daemon", "MaxHeaderBytes: 16 << 10"},
	{"time to send headers", "5 s", "internal/daemon", "ReadHeaderTimeout: 5 * time.Second"},
	{"time to send a body", "1 minute", "internal/daemon", "ReadTimeout: 60 * time.Second"},
	{"connections", "4,096", "internal/daemon", "maxConnections = 4096"},
	{"live streams of one session", "4", "web/live", "streamsPerSession = 4"},
	{"page of a list", "200", "internal/store/internal/core", "min(n, 200)"},
	{"rows examined per request", "5,000", "internal/store/query", "Rows = 5_000"},
	{"age of an idempotency key", "24 hours", "internal/store", "operationLifetime = 24 * time.Hour"},
	{"password", "12 to 256 characters", "internal/auth", "= 12"},
	{"session", "30 minutes idle, 12 hours in total", "internal/auth", "DefaultSessionLifetime = 12 * time.Hour"},
	{"setup link", "once, within 1 hour", "internal/auth", "SetupLifetime = time.Hour"},
	{"login link", "once, within 10 minutes", "internal/auth", "LinkLifetime = 10 * time.Minute"},
	{"token", "90 days, unless set", "internal/auth", "DefaultTokenLifetime = 90 * 24 * time.Hour"},
	{"proof of identity for admin actions", "15 minutes", "internal/auth", "ConfirmFor = 15 * time.Minute"},
	{"name of a saved view", "80 characters", "internal/app", "maxViewName = 80"},
}

// The reference of limits has a row for every limit, with the value that the code sets. A
// limit that changes in the code is changed here and on the page.
func TestLimitsAreDocumented(t *testing.T) {
	t.Parallel()
	page := readPage(t, "limits.md")
	var rows, listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| (.+?) \|$`).FindAllStringSubmatch(page, -1) {
		if m[1] != "limit" && m[1] != "---" {
			rows = append(rows, m[1]+": "+m[2])
		}
	}
	for _, l := range limits {
		listed = append(listed, l.name+": "+l.value)
		if !strings.Contains(sourceOf(t, l.dir), l.source) {
			t.Errorf("%s: %s has no %q; change the limit here and in docs/reference/limits.md", l.name, l.dir, l.source)
		}
	}
	if !slices.Equal(rows, listed) {
		t.Errorf("rows of limits.md:\n%s\nthe test has:\n%s", strings.Join(rows, "\n"), strings.Join(listed, "\n"))
	}
}

// sourceOf returns the Go source of a directory without tests, with every sequence of white space
// replaced by one space.
func sourceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(src)
	}
	return strings.Join(strings.Fields(all.String()), " ")
}

// runtimeVariables are read by the Go runtime and its library, not by the code of kairosd.
var runtimeVariables = []string{"GOMEMLIMIT", "GOGC", "TZ"}

// The reference of environment variables has every variable that the programs read or set, and
// no other.
func TestEnvironmentVariablesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| ((?:`[A-Z_]+`(?:, )?)+) \\|").FindAllStringSubmatch(readPage(t, "environment.md"), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			documented[strings.Trim(name, "`")] = true
		}
	}
	var all strings.Builder
	for _, dir := range []string{"internal/cli", "internal/cli/command", "internal/cli/kairos", "internal/cli/kairosd", "internal/daemon",
		"internal/metric/otlp",
		"internal/tool", "internal/mcp", "internal/engine", "internal/config", "internal/assemble"} {
		all.WriteString(sourceOf(t, dir) + " ")
	}
	source := all.String()
	for _, m := range regexp.MustCompile(`[eE]nv\("([A-Z][A-Z_]+)"\)`).FindAllStringSubmatch(source, -1) {
		if !documented[m[1]] {
			t.Errorf("docs/reference/environment.md does not have %s", m[1])
		}
	}
	for name := range documented {
		if !slices.Contains(runtimeVariables, name) && !strings.Contains(source, name) {
			t.Errorf("docs/reference/environment.md has %s, which no program reads or sets", name)
		}
	}
}
