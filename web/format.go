package web

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// This file is the one place that turns states, times and sizes into words.

func word(key, icon, w string, final bool) view.Status {
	return view.Status{Key: key, Icon: icon, Word: w, Final: final}
}

// runStatus is a run's state as operators read it.
func runStatus(s domain.RunStatus, reason domain.WaitReason) view.Status {
	switch s {
	case domain.RunQueued:
		return word("idle", "i-queued", locale.Mark("Queued"), false)
	case domain.RunRunning:
		return word("now", "i-now", locale.Mark("Running"), false)
	case domain.RunCompleted:
		return word("ok", "i-ok", locale.Mark("Succeeded"), true)
	case domain.RunFailed:
		return word("fail", "i-fail", locale.Mark("Failed"), true)
	case domain.RunCancelled:
		return word("idle", "i-cancel", locale.Mark("Cancelled"), true)
	}
	switch reason {
	case domain.WaitApproval, domain.WaitBudget, domain.WaitReplan, domain.WaitHeld, domain.WaitQuarantined:
		return word("need", "i-need", locale.Mark("Needs you"), false)
	case domain.WaitInDoubt:
		return word("fail", "i-doubt", locale.Mark("Interrupted"), false)
	case domain.WaitPaused:
		return word("idle", "i-pause", locale.Mark("Paused"), false)
	case domain.WaitRetry:
		return word("need", "i-retry", locale.Mark("Retrying"), false)
	}
	return word("idle", "i-wait", locale.Mark("Waiting"), false)
}

// statusOf is a run's state with what there is to say besides the word: until
// when it is put off, when it is tried again, for what it waits.
func (r *request) statusOf(run domain.Run) view.Status {
	st := runStatus(run.Status, run.WaitReason)
	switch {
	case run.Status == domain.RunQueued && run.StartAt.After(r.s.now()):
		st = word("idle", "i-clock", locale.Mark("Scheduled"), false)
		st.Detail = r.time(run.StartAt).Text
	case run.Status != domain.RunWaiting:
	case run.WaitReason == domain.WaitRetry && !run.DueAt.IsZero():
		st.Detail = r.ago(r.s.now().Sub(run.DueAt))
		if m := triedForm.FindStringSubmatch(run.Headline); m != nil {
			if made, err := strconv.Atoi(m[1]); err == nil {
				st.Detail = r.t("%s of %s, %s", strconv.Itoa(made+1), m[2], st.Detail)
			}
		}
	case run.WaitReason == domain.WaitTimer:
		st.Detail = r.t("timer")
	case run.WaitReason == domain.WaitChild:
		st.Detail = r.t("child run")
	}
	return st
}

// triedForm is how a headline says how many attempts were made of how many.
var triedForm = regexp.MustCompile(`^[A-Za-z0-9_-]+ will be tried again after (\d+) of (\d+) attempts: `)

// marks are the shapes of statuses as the titles of tabs can have them, always
// beside the word (R27, R36).
var marks = map[string]string{"i-ok": "✓", "i-fail": "✕", "i-now": "●", "i-need": "◆", "i-retry": "↻", "i-queued": "○", "i-clock": "◷", "i-wait": "◌", "i-cancel": "⊘", "i-pause": "‖", "i-doubt": "⚡"}

// titled is a status as a tab's title begins with it.
func (r *request) titled(s view.Status) string { return marks[s.Icon] + " " + r.t(s.Word) }

func favicon(s domain.RunStatus) string {
	switch s {
	case domain.RunFailed, domain.RunCompleted, domain.RunRunning, domain.RunWaiting:
		return string(s)
	}
	return "idle"
}

// stepStatus is a step's state as operators read it.
func stepStatus(s domain.NodeStatus) view.Status {
	switch s {
	case domain.NodeRunning:
		return word("now", "i-now", locale.Mark("running"), false)
	case domain.NodeCompleted:
		return word("ok", "i-ok", locale.Mark("succeeded"), true)
	case domain.NodeFailed:
		return word("fail", "i-fail", locale.Mark("failed"), true)
	case domain.NodeSkipped:
		return word("idle", "i-skip", locale.Mark("skipped"), true)
	case domain.NodeCancelled:
		return word("idle", "i-cancel", locale.Mark("cancelled"), true)
	case domain.NodeInDoubt:
		return word("fail", "i-doubt", locale.Mark("interrupted"), false)
	case domain.NodeWaiting:
		return word("idle", "i-wait", locale.Mark("waiting"), false)
	case nodeLost:
		return lostStatus()
	}
	return word("idle", "i-queued", locale.Mark("not started"), false)
}

// took is an elapsed time: 100 ms, 11.2 s, 3m 41s, 2h 11m, 4d 3h.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d.Round(100*time.Millisecond) < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute: // rounded
		return "1m 0s"
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// visible shows characters that would hide or turn text.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if hidden(c) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func hidden(c rune) bool {
	return c != '\n' && c != '\t' && c != '\r' && (unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c))
}

// firstWord is a word that may be written with a capital: no key, path or name.
var firstWord = regexp.MustCompile(`^\p{Ll}+[ ,]`)

// effectNames are the effects of steps and tools, as the plan language calls them.
var effectNames = map[string]string{
	string(planner.EffectPure): locale.Mark("pure"), string(planner.EffectRead): locale.Mark("read"), string(planner.EffectIdempotent): locale.Mark("idempotent"),
	string(planner.EffectUnsafe): locale.Mark("unsafe"), string(planner.EffectControl): locale.Mark("control"),
}

// effect is an effect in the reader's language.
func (r *request) effect(e string) string {
	if w, ok := effectNames[e]; ok {
		return r.t(w)
	}
	return visible(e)
}

// begun is an error's text as a sentence begins: errors have no capital, pages do.
func begun(text string) string {
	if firstWord.MatchString(text) {
		_, n := utf8.DecodeRuneInString(text)
		return strings.ToUpper(text[:n]) + text[n:]
	}
	return text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
