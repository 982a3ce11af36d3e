// Package tail shows the output of attempts that other programs execute, while they run. Such a program collects the last output of an
// attempt with a [Recorder], and sends it with its heartbeats. kairosd reads it with a [Follower] while a run has readers.
package tail

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
)

// Limits of a tail. A heartbeat contains a tail, and the server stores it.
const (
	MaxLog  = 32 << 10 // bytes of messages of log lines
	MaxLine = 8 << 10  // bytes of one of them
	MaxText = 16 << 10 // bytes of text of models
	perLine = 64       // bytes that count for a line besides its message
)

// Tail is the last output of an active attempt.
type Tail struct {
	Run, Session, Node   string
	Visit, Item, Attempt int
	StartedAt            time.Time // of the attempt
	At                   time.Time // of the last output
	// Log contains the last lines, and Skipped is the number of lines before them. Reported is the number of reports of progress.
	Log      domain.AttemptLog
	Skipped  int `json:",omitempty"`
	Reported int `json:",omitempty"`
	// Text is the last text of a model, and Written is the number of bytes so far.
	Text    string `json:",omitempty"`
	Written int    `json:",omitempty"`
}

// Active describes the active attempts of a run.
type Active struct {
	Attempts int // their number
	Tails    []Tail
	Waits    []domain.WorkerWait // attempts that no worker has begun
}

// Recorder collects the last output of an attempt. It is safe for concurrent use.
type Recorder struct {
	changed chan struct{}

	mu    sync.Mutex
	tail  Tail // guarded by mu
	bytes int  // of the lines; guarded by mu
}

// NewRecorder returns a recorder of an attempt. Only the identity of the attempt is set in t.
func NewRecorder(t Tail) *Recorder { return &Recorder{changed: make(chan struct{}, 1), tail: t} }

// Changed returns a channel that receives after new output.
func (r *Recorder) Changed() <-chan struct{} { return r.changed }

// Tail returns the output so far.
func (r *Recorder) Tail() Tail {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tail
	t.Log.Lines = slices.Clone(t.Log.Lines)
	return t
}

// Add adds an event of the attempt that is not stored.
func (r *Recorder) Add(e domain.Event) {
	text := func(name string) string { s, _ := e.Data[name].(string); return s }
	number := func(name string) int64 { n, _ := e.Data[name].(int64); return n }
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &r.tail
	switch e.Type {
	case "node_log":
		r.line(domain.LogLine{At: e.At, Level: text("level"), Message: cut(text("message"), MaxLine)})
	case "node_progress":
		t.Log.Progress = &domain.Progress{Done: number("done"), Total: number("total"), Message: cut(text("message"), MaxLine)}
		t.Reported++
	case "node_text":
		s := strings.ToValidUTF8(text("text"), "�") // as in JSON, so that it keeps its length
		t.Written += len(s)
		t.Text = last(t.Text+s, MaxText)
	default:
		return
	}
	t.At = e.At
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *Recorder) line(l domain.LogLine) {
	t := &r.tail
	t.Log.Lines = append(t.Log.Lines, l)
	r.bytes += len(l.Message) + perLine
	n := 0
	for ; r.bytes > MaxLog; n++ {
		r.bytes -= len(t.Log.Lines[n].Message) + perLine
	}
	t.Log.Lines = t.Log.Lines[n:]
	t.Skipped += n
}

// cut limits a text to a number of bytes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// last returns the end of a text, at most a number of bytes.
func last(s string, limit int) string {
	n := max(len(s)-limit, 0)
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return s[n:]
}

// key identifies an attempt.
type key struct {
	node                 string
	visit, item, attempt int
	startedAt            int64
}

func (t *Tail) key() key { return key{t.Node, t.Visit, t.Item, t.Attempt, t.StartedAt.UnixMicro()} }

// position is the part of an attempt's output that has been published.
type position struct{ lines, reported, written int }

func (t *Tail) end() position { return position{t.Skipped + len(t.Log.Lines), t.Reported, t.Written} }

// noItem is the item of a step without foreach.
const noItem = -1

// events returns the events of the output after a position. Lines and text before the tail are missing.
func (t *Tail) events(after position) (list []domain.Event) {
	add := func(typ string, at time.Time, data map[string]any) {
		data["node"], data["visit"], data["attempt"] = t.Node, t.Visit, t.Attempt
		if t.Item != noItem {
			data["item"] = t.Item
		}
		list = append(list, domain.Event{Type: typ, Run: t.Run, Session: t.Session, At: at, Data: data})
	}
	for i, l := range t.Log.Lines {
		if t.Skipped+i >= after.lines {
			add("node_log", l.At, map[string]any{"level": l.Level, "message": l.Message})
		}
	}
	if p := t.Log.Progress; p != nil && t.Reported > after.reported {
		add("node_progress", t.At, map[string]any{"done": p.Done, "total": p.Total, "message": p.Message})
	}
	if n := t.Written - after.written; n > 0 && t.Text != "" {
		add("node_text", t.At, map[string]any{"text": last(t.Text, n)})
	}
	return list
}

// Intent returns the intent row of an attempt, and whether the attempt has ended. It returns nil if there is no such row.
func Intent(journal []domain.Entry, node string, visit, item, attempt int) (row *domain.Entry, ended bool) {
	for i := range slices.Backward(journal) {
		r := &journal[i]
		if r.Substep != 0 || r.Node != node || r.Visit != visit || r.Item != item || r.Attempt != attempt {
			continue
		}
		switch r.Kind {
		case domain.EntryIntent:
			return r, ended
		case domain.EntryResult:
			ended = true
		}
	}
	return nil, ended
}
