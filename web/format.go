package web

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// This file is the one place that turns states, times and sizes into words.

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

// effectNames are the effects of steps and tools, as the plan language calls them.
var effectNames = map[string]string{
	string(walk.EffectPure): locale.Mark("pure"), string(walk.EffectRead): locale.Mark("read"), string(walk.EffectIdempotent): locale.Mark("idempotent"),
	string(walk.EffectUnsafe): locale.Mark("unsafe"), string(walk.EffectControl): locale.Mark("control"),
}

// effect is an effect in the reader's language.
func (r *request) effect(e string) string {
	if w, ok := effectNames[e]; ok {
		return r.t(w)
	}
	return visible(e)
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
