package hook_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// E11: a sender that is not verified gets the same response from every address, whether there is a hook,
// and whether it is paused or lacks its secret.
func TestUnknownHooksLookLikeOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scheme := range domain.HookSchemes {
		w.hook(string(scheme), domain.HookSpec{Scheme: scheme})
	}
	lost := w.hook("lost", domain.HookSpec{Scheme: domain.HookBearer, Secret: "GONE"})
	paused := w.hook("paused", domain.HookSpec{Scheme: domain.HookGitHub})
	paused.Paused = &domain.Disablement{Since: w.now}
	w.change(paused)
	at := fmt.Sprint(w.now.Unix())
	for _, c := range []struct {
		name, body string
		headers    []string
	}{
		{"nothing", "{}", nil},
		{"wrong proofs", "{}", []string{"Authorization: Bearer x", "X-Hub-Signature-256: sha256=00", "Stripe-Signature: t=" + at + ",v1=00",
			"X-Slack-Signature: v0=00", "X-Slack-Request-Timestamp: " + at, "webhook-id: m", "webhook-timestamp: " + at,
			"webhook-signature: v1,AA=="}},
		{"an empty token", "{}", []string{"Authorization: Bearer "}},
		{"a large body", strings.Repeat("x", domain.MaxHookBody+1), nil},
	} {
		want := ""
		for _, path := range []string{"bearer", "files", "github", "slack", "standard", "stripe", "lost", "paused", "none", "none/more", "",
			lost.ID, strings.Repeat("x", 3000)} {
			got := w.send("/hooks/"+path, c.body, c.headers...)
			if want == "" {
				want = got
			}
			if got != want || !strings.HasPrefix(got, "401 ") && !strings.HasPrefix(got, "413 ") {
				t.Errorf("%s to %.20q: %s, want %s", c.name, path, got, want)
			}
		}
	}
	for _, d := range w.deliveries(lost) {
		if d.Reason != "hook.secret" || d.Verified || d.Body != "" {
			t.Errorf("%+v", d)
		}
	}
}

// E12: a flood of deliveries is refused before it is verified, and few of them are stored. Verified
// senders have a limit of their own. A later minute has room again.
func TestHostileDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Filter: "false"})
	count := func(n int, send func(i int) string) (out map[string]int) {
		out = map[string]int{}
		for i := range n { // the clock stands still
			out[send(i)[:3]]++
		}
		return out
	}
	wrong := func(int) string { return w.send("/hooks/b", "{}", "Authorization: Bearer wrong") }
	if got := count(domain.HookSenderBurst+20, wrong); got["401"] != domain.HookSenderBurst || got["429"] != 20 {
		t.Errorf("a flood: %v", got)
	}
	if n := len(w.deliveries(h)); n != domain.StoredRefusals {
		t.Errorf("%d are stored", n)
	}
	w.address = "2001:db8::1"
	if got := count(domain.HookBurst+5, func(i int) string { return w.bearer(fmt.Sprint(i), "{}") }); got["200"] != domain.HookBurst ||
		got["429"] != 5 {
		t.Errorf("many events: %v", got)
	}
	if n := len(w.deliveries(h)); n != domain.StoredRefusals+domain.HookBurst {
		t.Errorf("%d are stored", n)
	}
	w.address = "2001:db8::2" // of the same network
	if got := count(domain.HookSenderBurst, wrong); got["401"] != domain.HookSenderBurst-domain.HookBurst-5 {
		t.Errorf("a flood from a network: %v", got)
	}
	w.now = w.now.Add(time.Minute)
	if got := wrong(0); !strings.HasPrefix(got, "401 ") {
		t.Errorf("a minute later: %s", got)
	}
	if n := len(w.deliveries(h)); n != domain.StoredRefusals+domain.HookBurst+1 {
		t.Errorf("%d are stored", n)
	}
}

// The configured rate changes the limits, also of hooks and senders that are known.
func TestTheRateIsConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Filter: "false"})
	sent := 0
	accepted := func() (n int) {
		for { // the clock stands still
			sent++
			if !strings.HasPrefix(w.bearer(fmt.Sprint(sent), "{}"), "200 ") {
				return n
			}
			n++
		}
	}
	if n := accepted(); n != domain.HookBurst {
		t.Errorf("%d deliveries at once", n)
	}
	w.rate = 2 * domain.HookRate
	w.now = w.now.Add(time.Second) // a request with the new rate adjusts the limits
	accepted()
	w.now = w.now.Add(time.Minute)
	if n := accepted(); n != 2*domain.HookBurst {
		t.Errorf("%d deliveries at once after the change", n)
	}
}
