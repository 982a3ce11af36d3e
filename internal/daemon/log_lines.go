package daemon

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// logLines keeps the newest log lines for users of the dashboard, who cannot read the daemon's
// standard error. It is safe for concurrent use.
type logLines struct {
	mu    sync.Mutex
	lines [][]byte
	next  int // index of the next line once there are logKept lines
}

// logKept is the number of lines that are kept, and logLine the maximum length of a line, in bytes.
const (
	logKept = 1000
	logLine = 4 << 10
)

// Write keeps a line. It never fails.
func (l *logLines) Write(p []byte) (int, error) {
	line := bytes.Clone(p[:min(len(p), logLine)])
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < logKept {
		l.lines = append(l.lines, line)
		return len(p), nil
	}
	l.lines[l.next] = line
	l.next = (l.next + 1) % logKept
	return len(p), nil
}

// newest returns the lines of at least a level that contain a text, newest first.
func (l *logLines) newest(level, text string, mask func([]byte) []byte) []domain.DaemonLog {
	var least slog.Level
	if level == "" || least.UnmarshalText([]byte(level)) != nil {
		least = slog.LevelDebug
	}
	text = strings.ToLower(text)
	l.mu.Lock()
	lines := make([][]byte, 0, len(l.lines))
	for i := range l.lines {
		lines = append(lines, l.lines[(l.next+len(l.lines)-1-i)%len(l.lines)])
	}
	l.mu.Unlock()
	out := []domain.DaemonLog{}
	for _, raw := range lines {
		if mask != nil {
			raw = mask(raw)
		}
		line := readLine(raw)
		var of slog.Level
		if of.UnmarshalText([]byte(line.Level)) == nil && of < least {
			continue
		}
		if text != "" && !strings.Contains(strings.ToLower(line.Message+" "+line.Facts), text) {
			continue
		}
		out = append(out, line)
	}
	return out
}

// readLine parses a line of JSON. A shortened line is shown as text.
func readLine(raw []byte) domain.DaemonLog {
	var head struct {
		Time  time.Time `json:"time"`
		Level string    `json:"level"`
		Msg   string    `json:"msg"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return domain.DaemonLog{Level: slog.LevelInfo.String(), Message: strings.ToValidUTF8(string(bytes.TrimSpace(raw)), "�")}
	}
	out := domain.DaemonLog{At: head.Time.UTC(), Level: head.Level, Message: head.Msg}
	var rest map[string]json.RawMessage
	if json.Unmarshal(raw, &rest) == nil {
		for _, k := range []string{"time", "level", "msg"} {
			delete(rest, k)
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if len(rest) > 0 && e.Encode(rest) == nil {
			out.Facts = strings.TrimSpace(b.String())
		}
	}
	return out
}
