package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// execTool runs commands of an allow list: with argv only, without a shell (M01, M02), in a clean
// environment (M03) and a separate process group (M04).
type execTool struct {
	config ExecConfig
	// allowed contains the executables by path, as they were when kairosd started. A file that
	// replaces one later is rejected.
	allowed  map[string]os.FileInfo
	patterns map[string]*regexp.Regexp
	user     *execUser // nil: kairosd's own user
}

// MaxDuration returns the timeout of a call.
func (t *execTool) MaxDuration() time.Duration { return t.config.Timeout }

func newExec(c ExecConfig) (llm.Tool, error) {
	t := &execTool{config: c, allowed: map[string]os.FileInfo{}, patterns: map[string]*regexp.Regexp{}}
	var err error
	if t.user, err = newExecUser(c.User); err != nil {
		return nil, err
	}
	for _, path := range c.Allow {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return nil, fmt.Errorf("tools.exec.allow: %q is not a clean absolute path", path)
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("tools.exec.allow: %w", err)
		}
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return nil, fmt.Errorf("tools.exec.allow: %s is not an executable file", path)
		}
		t.allowed[path] = info
	}
	for path, pattern := range c.Patterns {
		re, err := regexp.Compile(`^(?s:` + pattern + `)$`)
		if err != nil {
			return nil, fmt.Errorf("tools.exec.patterns: %w", err)
		}
		if t.allowed[path] == nil {
			return nil, fmt.Errorf("tools.exec.patterns: %q is not in tools.exec.allow", path)
		}
		t.patterns[path] = re
	}
	for _, path := range c.EndOfOptions {
		if t.allowed[path] == nil {
			return nil, fmt.Errorf("tools.exec.end_of_options: %q is not in tools.exec.allow", path)
		}
	}
	for name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("tools.exec.env: %q is not a name", name)
		}
	}
	command := property("string", "absolute path of an allow-listed executable", "minLength", 1)
	if len(c.Allow) > 0 { // saving a plan reports another command
		command["enum"] = anyOf(c.Allow)
	}
	codes := map[string]any{"type": "integer", "minimum": 0, "maximum": 255}
	return &function{
		spec: llm.ToolSpec{
			Name: "exec",
			Description: "Runs an allow-listed command without a shell. Gives {exit_code, stdout, stderr}. " +
				"An exit code other than 0 is a failure unless it is expected.",
			Effect: walk.EffectUnsafe,
			Schema: object(map[string]any{
				"command": command,
				"args": property(
					"array",
					"its arguments; each is passed as it is",
					"items",
					map[string]any{"type": "string"},
					"maxItems",
					1000,
				),
				"operands": property(
					"array",
					"data that follows the arguments and is never read as an option",
					"items",
					map[string]any{"type": "string"},
					"maxItems",
					1000,
				),
				"stdin":   property("string", "standard input"),
				"timeout": property("string", fmt.Sprintf("at most %s, as 500ms or 10s", c.Timeout)),
				"expect":  property("array", "exit codes that are results and not failures; default 0", "items", codes),
				"rejects": property("array", "exit codes that mean that the command did nothing", "items", codes),
			}, "command"),
		},
		call: t.run,
	}, nil
}

// killDelay is the time that a command has after SIGTERM, and the time to wait for its output after
// its end, because a grandchild may hold the output open (M04).
const killDelay = 500 * time.Millisecond

func (t *execTool) run(ctx context.Context, args arguments, call llm.ToolCall) (any, error) {
	path := args.text("command")
	then, ok := t.allowed[path]
	if !ok {
		return nil, suggest(
			refused(walk.CodePolicy, "%s is not permitted", clip(path)),
			"list it under tools.exec.allow in the configuration",
		)
	}
	now, err := os.Stat(path)
	if err != nil || !os.SameFile(now, then) || now.ModTime() != then.ModTime() || now.Size() != then.Size() {
		return nil, suggest(
			refused(walk.CodePolicy, "%s has changed since kairosd started", clip(path)),
			"restart kairosd if the change was yours",
		)
	}
	timeout := t.config.Timeout
	if text := args.text("timeout"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, suggest(invalid("timeout %s is not a duration", clip(text)), "use a duration, such as 500ms or 10s")
		}
		timeout = min(timeout, d)
	}
	argv, err := t.argv(path, args)
	if err != nil {
		return nil, err
	}
	dir, own := t.config.Dir, ""
	if dir == "" {
		if dir, err = os.MkdirTemp("", "kairos-exec-"); err != nil {
			return nil, (&walk.Failure{Code: "io", NoEffect: true}).WithMessage("make a working directory: %s", err)
		}
		own = dir
		defer os.RemoveAll(dir)
		if err := t.user.own(dir); err != nil {
			return nil, (&walk.Failure{Code: "io", NoEffect: true}).WithMessage("change the owner of the working directory: %s", err)
		}
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx, tooMuch := context.WithCancelCause(ctx)
	defer tooMuch(nil)

	cmd := exec.CommandContext(ctx, path, argv...)
	cmd.Dir, cmd.Env = dir, t.environment(call.IdempotencyKey)
	cmd.Stdin = strings.NewReader(args.text("stdin"))
	stdout := &capped{most: t.config.MaxBytes, full: func() { tooMuch(errOutput) }}
	stderr := &capped{most: t.config.MaxBytes, full: func() { tooMuch(errOutput) }}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: t.user.credential()}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killDelay
	if err := cmd.Start(); err != nil {
		return nil, refused(CodeUnreachable, "start %s: %s", clip(path), err).WithCause(err)
	}
	watching, unwatch := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { t.watch(watching, cmd.Process.Pid, own, tooMuch) })
	err = cmd.Wait()
	unwatch()
	watcher.Wait()
	// Processes that the command left running are ended too.
	if kill := endGroup(cmd.Process.Pid); kill != nil {
		call.Log("warn", fmt.Sprintf("processes of %s could not be ended: %s", path, kill))
	}
	switch {
	case parent.Err() != nil:
		return nil, parent.Err()
	case quotaOf(ctx) != nil:
		return nil, quotaFailure(clip(path), quotaOf(ctx), stderr.tail())
	case errors.Is(context.Cause(ctx), errOutput):
		return nil, (&walk.Failure{
			Code:      CodeTooLarge,
			Permanent: true,
		}).WithMessage("%s wrote more than %d bytes and was killed", clip(path), t.config.MaxBytes)
	case ctx.Err() != nil:
		return nil, (&walk.Failure{
			Code:   walk.CodeTimeout,
			Detail: stderr.tail(),
		}).WithMessage("%s ran longer than %s and was killed", clip(path), timeout)
	}
	return t.result(args, cmd, err, stdout, stderr)
}

// argv builds the argument list: options first, then operands. For a command that supports `--`, it
// separates them. For another command, it rejects data that looks like an option.
func (t *execTool) argv(path string, args arguments) ([]string, error) {
	for _, name := range []string{"args", "operands"} {
		list := args.texts(name)
		if i := slices.IndexFunc(list, func(a string) bool { return strings.ContainsRune(a, 0) }); i >= 0 {
			return nil, invalid("%s.%d contains a NUL character", name, i)
		}
		if re := t.patterns[path]; re != nil {
			if i := slices.IndexFunc(list, func(a string) bool { return !re.MatchString(a) }); i >= 0 {
				return nil, suggest(
					refused(walk.CodePolicy, "%s.%d of %s is not allowed", name, i, clip(path)),
					"tools.exec.patterns lists the allowed arguments",
				)
			}
		}
	}
	operands := args.texts("operands")
	if len(operands) == 0 {
		return args.texts("args"), nil
	}
	if slices.Contains(t.config.EndOfOptions, path) {
		return slices.Concat(args.texts("args"), []string{"--"}, operands), nil
	}
	if i := slices.IndexFunc(operands, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
		return nil, suggest(refused(walk.CodePolicy, "operands.%d begins with - and would be taken for an option of %s", i, clip(path)),
			"list the command under tools.exec.end_of_options if it supports --")
	}
	return slices.Concat(args.texts("args"), operands), nil
}

func anyOf(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func quotaOf(ctx context.Context) *overQuota {
	o, _ := errors.AsType[*overQuota](context.Cause(ctx))
	return o
}

var errOutput = errors.New("too much output")

// result evaluates the exit code, which is the command's contract (M07).
func (t *execTool) result(args arguments, cmd *exec.Cmd, err error, stdout, stderr *capped) (any, error) {
	exit, isExit := errors.AsType[*exec.ExitError](err)
	if err != nil && !isExit && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, (&walk.Failure{Code: "io"}).WithMessage("run %s: %s", clip(cmd.Path), err).WithCause(err)
	}
	code := cmd.ProcessState.ExitCode()
	has := func(name string) bool {
		list, _ := args[name].([]any)
		return slices.ContainsFunc(list, func(v any) bool { return jsonvalue.Text(v) == fmt.Sprint(code) })
	}
	if code == 0 && !args.has("expect") || has("expect") {
		return map[string]any{
			"exit_code": code,
			"stdout":    strings.ToValidUTF8(stdout.String(), "�"),
			"stderr":    strings.ToValidUTF8(stderr.String(), "�"),
		}, nil
	}
	f := (&walk.Failure{
		Code:     CodeExit,
		Detail:   stderr.tail(),
		NoEffect: has("rejects"),
	}).WithMessage("%s ended with exit code %d", clip(cmd.Path), code)
	if isExit {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			f.WithMessage("%s was ended by signal %s", clip(cmd.Path), status.Signal())
		}
	}
	return nil, f
}

// environment returns the complete environment of a command. It contains nothing of kairosd's
// (M03).
func (t *execTool) environment(key string) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range slices.Sorted(maps.Keys(t.config.Env)) {
		env = append(env, name+"="+t.config.Env[name])
	}
	return append(env, "KAIROS_IDEMPOTENCY_KEY="+key)
}

// capped keeps the beginning of the written data, and reports if the limit is exceeded.
type capped struct {
	mu   sync.Mutex
	b    bytes.Buffer
	most int64
	full func()
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := c.most - int64(c.b.Len())
	if int64(len(p)) > room {
		c.b.Write(p[:room])
		c.full()
		return len(p), nil // discarded, so that the command can end
	}
	return c.b.Write(p)
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}

func (c *capped) tail() string {
	s := c.String()
	return strings.ToValidUTF8(s[max(0, len(s)-2048):], "�")
}
