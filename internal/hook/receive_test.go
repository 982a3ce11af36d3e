package hook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/hook"
	"github.com/kairosd/kairosd/internal/store"
)

const (
	secret = "whsec_c2VjcmV0IG9mIHRoZSBob29r"
	plan   = `{id: order, input: {type: object, required: [order]}, nodes: {a: {type: set, input: "${input.order}"}}}`
)

// world is a server of hooks on a real engine and a real store.
type world struct {
	*enginetest.Engine
	t       *testing.T
	server  *httptest.Server
	now     time.Time
	plan    string
	hooks   *hook.Receiver
	address string // of the sender
	rate    int    // deliveries per second
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Engine: enginetest.Open(t, enginetest.NewRegistry()), t: t, now: time.Now(), address: "192.0.2.1", rate: domain.HookRate}
	w.plan = w.Save(plan).PlanID
	w.hooks = hook.New(hook.Config{Store: w.Store, Engine: w.Engine, Now: func() time.Time { return w.now }, CallbackKey: []byte("key"),
		Announce: w.Announce, Rate: func() int { return w.rate },
		Secret: func(name string) (string, bool) { return secret, name == "S" },
		Mask:   func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(secret), []byte("••••")) }})
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		w.hooks.ServeHTTP(rw, q.WithContext(domain.WithRequest(q.Context(), domain.Request{Address: w.address})))
	}))
	t.Cleanup(w.server.Close)
	return w
}

// hook creates a hook that starts the plan.
func (w *world) hook(key string, spec domain.HookSpec) domain.Hook {
	w.t.Helper()
	h := domain.Hook{ID: domain.NewID(), Key: key, HookSpec: spec, Actor: "ada"}
	if h.Secret == "" {
		h.Secret = "S"
	}
	if spec.Signal == "" {
		h.PlanID = w.plan
	}
	if _, _, err := w.Store.Do(store.Operation{Name: "create", By: enginetest.Operator, At: w.now}, func(tx *store.Tx) (string, error) {
		return h.ID, tx.Incoming().CreateHook(h)
	}); err != nil {
		w.t.Fatal(err)
	}
	return h
}

// change stores the settings of a hook.
func (w *world) change(h domain.Hook) {
	w.t.Helper()
	if _, _, err := w.Store.Do(store.Operation{Name: "change", By: enginetest.Operator, At: w.now}, func(tx *store.Tx) (string, error) {
		return h.ID, tx.Incoming().ChangeHook(h)
	}); err != nil {
		w.t.Fatal(err)
	}
}

// send sends a delivery, and returns the status and the body of the response.
func (w *world) send(path, body string, headers ...string) string {
	w.t.Helper()
	q, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		q.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(text)))
}

// deliveries returns the deliveries to a hook, newest first, with their contents.
func (w *world) deliveries(h domain.Hook) (out []domain.HookDelivery) {
	w.t.Helper()
	w.hooks.Close() // refused ones are stored after the response
	list, err := w.Store.HookDeliveries(w.t.Context(), domain.DeliveryFilter{Hook: h.ID, Page: domain.Page{Limit: 200}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range list.Items {
		if d, err = w.Store.HookDelivery(w.t.Context(), d.ID); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func (w *world) sign(parts ...string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(parts, "")))
	return hex.EncodeToString(mac.Sum(nil))
}

// bearer sends a delivery with the token and a key.
func (w *world) bearer(key, body string) string {
	return w.send("/hooks/b", body, "Authorization: Bearer "+secret, "Idempotency-Key: "+key)
}

// Every scheme accepts a delivery with a valid signature once, whatever comes with it, and refuses
// others. E06, E07, E08: invalid signatures, old timestamps, and missing ids are refused with a reason.
func TestSchemes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"order": 7, "id": "evt_1", "event_id": "Ev1", "token": "` + secret + `"}`
	at := fmt.Sprint(w.now.Unix())
	old := fmt.Sprint(w.now.Add(-domain.HookTolerance - time.Minute).Unix())
	standard := func(at time.Time) []string {
		wh, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := wh.Sign("msg_1", at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return []string{"webhook-id: msg_1", "webhook-timestamp: " + fmt.Sprint(at.Unix()), "webhook-signature: v1,x " + signature}
	}
	for scheme, c := range map[domain.HookScheme]struct{ good, bad, late, anonymous []string }{
		domain.HookStandard: {standard(w.now), []string{"webhook-id: msg_1", "webhook-timestamp: " + at, "webhook-signature: v1,aGk="},
			standard(w.now.Add(-domain.HookTolerance - time.Minute)), nil},
		domain.HookGitHub: {[]string{"X-GitHub-Delivery: d1", "X-Hub-Signature-256: sha256=" + w.sign(body)},
			[]string{"X-GitHub-Delivery: d1", "X-Hub-Signature-256: sha256=" + w.sign(body, "x")}, nil,
			[]string{"X-Hub-Signature-256: sha256=" + w.sign(body)}},
		domain.HookStripe: {[]string{"Stripe-Signature: t=" + at + ",v1=00,v1=" + w.sign(at, ".", body)},
			[]string{"Stripe-Signature: t=" + at + ",v1=" + w.sign(old, ".", body)},
			[]string{"Stripe-Signature: t=" + old + ",v1=" + w.sign(old, ".", body)}, nil},
		domain.HookSlack: {[]string{"X-Slack-Request-Timestamp: " + at, "X-Slack-Signature: v0=" + w.sign("v0:", at, ":", body)},
			[]string{"X-Slack-Request-Timestamp: " + at, "X-Slack-Signature: v0=" + w.sign("v0:", old, ":", body)},
			[]string{"X-Slack-Request-Timestamp: " + old, "X-Slack-Signature: v0=" + w.sign("v0:", old, ":", body)}, nil},
		domain.HookBearer: {[]string{"Authorization: Bearer " + secret, "Idempotency-Key: k"}, []string{"Authorization: Bearer x"}, nil,
			[]string{"Authorization: Bearer " + secret}},
	} {
		h, path := w.hook(string(scheme), domain.HookSpec{Scheme: scheme}), "/hooks/"+string(scheme)
		check := func(name, want string, headers []string) {
			t.Helper()
			if headers == nil {
				return
			}
			if got := w.send(path, body, headers...); !strings.Contains(got, want) {
				t.Errorf("%s, %s: %s, want %s", scheme, name, got, want)
			}
		}
		check("bad signature", `401 {"status":"refused"`, c.bad)
		check("no signature", `401 {"status":"refused"`, []string{"X-Nothing: 1"})
		check("old timestamp", `"reason":"hook.timestamp"`, c.late)
		check("no id", `"reason":"hook.id"`, c.anonymous)
		w.deliveries(h) // waits until the refusals are stored, so that they precede the others
		check("accepted", `202 {"status":"accepted"`, c.good)
		check("sent again", `200 {"status":"duplicate"`, c.good)
		runs, err := w.Store.Runs(t.Context(), domain.RunFilter{Labels: map[string]string{"hook": string(scheme)}})
		if err != nil || len(runs.Items) != 1 || runs.Items[0].Origin != domain.OriginHook || runs.Items[0].Actor != "ada" {
			t.Errorf("%s: %d runs, %v", scheme, len(runs.Items), err)
		}
		list := w.deliveries(h)
		if len(list) < 4 || list[0].State != domain.DeliveryDuplicate || list[1].Body != strings.Replace(body, secret, "••••", 1) {
			t.Errorf("%s: %+v", scheme, list)
		}
		for _, d := range list {
			if text := fmt.Sprintf("%+v", d); strings.Contains(text, secret) || strings.Contains(text, "-signature") ||
				!d.Verified && d.Body != "" || d.Remote != w.address {
				t.Errorf("%s: stored %s", scheme, text)
			}
		}
	}
}

// The filter selects deliveries, and the input is computed. E09: an expression that fails, and an input
// that does not match the plan, refuse the delivery, which stays for a replay.
func TestFilterAndInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Filter: `body.type == "paid" && headers["user-agent"] != ""`,
		Input: `{"order": body.data.id}`})
	for _, c := range []struct{ key, body, want string }{
		{"1", `{"type": "refunded"}`, `200 {"status":"filtered"`},
		{"2", `{"type": "paid"}`, `"reason":"hook.expression"`},
		{"3", `{"kind": "paid"}`, `"reason":"hook.expression"`},
		{"4", `{"type": "paid"`, `"reason":"hook.body"`},
		{"5", "\xff", `"reason":"hook.body"`},
		{"6", `{"type": "paid", "data": {"id": 5}}`, `202 {"status":"accepted"`},
	} {
		if got := w.bearer(c.key, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
	d, err := w.Store.HookDeliveries(t.Context(), domain.DeliveryFilter{Hook: h.ID, State: domain.DeliveryAccepted})
	if err != nil || len(d.Items) != 1 {
		t.Fatalf("%+v %v", d.Items, err)
	}
	if r := w.Until(d.Items[0].Run, domain.RunCompleted, ""); string(r.Output) != "5" {
		t.Errorf("output %s", r.Output)
	}
	w.hook("raw", domain.HookSpec{Scheme: domain.HookBearer})
	if got := w.send("/hooks/raw", `{}`, "Authorization: Bearer "+secret, "Idempotency-Key: k"); !strings.HasPrefix(got, "422 ") {
		t.Errorf("an input that the plan rejects: %s", got)
	}
}

// E10: the same delivery many times at once starts one run.
func TestTheSameDeliveryAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook("b", domain.HookSpec{Scheme: domain.HookBearer})
	var work sync.WaitGroup
	for range 12 {
		work.Go(func() { w.bearer("same", `{"order": 1}`) })
	}
	work.Wait()
	runs, err := w.Store.Runs(t.Context(), domain.RunFilter{Labels: map[string]string{"hook": "b"}})
	if err != nil || len(runs.Items) != 1 {
		t.Errorf("%d runs, %v", len(runs.Items), err)
	}
	list, err := w.Store.HookDeliveries(t.Context(), domain.DeliveryFilter{Hook: h.ID})
	states := map[domain.DeliveryState]int{}
	for _, d := range list.Items {
		states[d.State]++
	}
	if err != nil || states[domain.DeliveryAccepted] != 1 || states[domain.DeliveryDuplicate] != 11 {
		t.Errorf("%v %v", states, err)
	}
}

// A delivery sends a signal, once. A replay has a key that names the original, and happens once for
// each operation.
func TestSignalsAndReplays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Signal: `"paid." + string(body.order)`, Input: `{"amount": body.amount}`})
	run := w.Run(`{id: shop, nodes: {a: {wait: {event: paid.x}}}}`, "")
	w.Until(run.ID, domain.RunWaiting, domain.WaitSignal)
	if got := w.bearer("1", `{"order": "x", "amount": 12}`); !strings.Contains(got, `202 {"status":"accepted"`) {
		t.Fatal(got)
	}
	w.bearer("1", `{"order": "x", "amount": 12}`)
	if r := w.Until(run.ID, domain.RunCompleted, ""); !strings.Contains(string(r.Output), `"data":{"amount":12}`) {
		t.Errorf("output %s", r.Output)
	}
	list := w.deliveries(h)
	if len(list) != 2 || list[1].State != domain.DeliveryAccepted {
		t.Fatalf("%+v", list)
	}
	original := list[1]
	for i, want := range []domain.DeliveryState{domain.DeliveryAccepted, domain.DeliveryDuplicate} {
		d, err := w.hooks.Replay(t.Context(), original, "op")
		if err != nil || d.State != want || d.ReplayOf != original.ID || d.Key != "replay:"+original.ID+":op" {
			t.Errorf("replay %d: %+v %v", i, d, err)
		}
	}
	if signals, err := w.Store.Signals(t.Context(), domain.SignalFilter{}); err != nil || len(signals.Items) != 2 {
		t.Errorf("%d signals, %v", len(signals.Items), err)
	}
	if _, err := w.hooks.Replay(t.Context(), domain.HookDelivery{ID: "x", HookID: h.ID}, "op"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("replay of an unverified delivery: %v", err)
	}
}

// Slack sends a text to an address, and expects it in the response. Nothing starts.
func TestSlackChecksTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook("slack", domain.HookSpec{Scheme: domain.HookSlack})
	body, at := `{"type": "url_verification", "challenge": "3eZbrw1aB"}`, fmt.Sprint(w.now.Unix())
	if got := w.send("/hooks/slack", body, "X-Slack-Request-Timestamp: "+at, "X-Slack-Signature: v0="+w.sign("v0:", at, ":", body)); got !=
		`200 {"status":"filtered","delivery":"`+w.deliveries(h)[0].ID+`","reason":"hook.challenge","challenge":"3eZbrw1aB"}` {
		t.Error(got)
	}
	if got := w.send("/hooks/slack", body); !strings.HasPrefix(got, "401 ") || strings.Contains(got, "3eZbrw1aB") {
		t.Errorf("without a signature: %s", got)
	}
}

// A replay repeats one refused delivery of each event, with the ID of the event in its expressions. It
// leaves out events that were accepted later, by a delivery or by a replay.
func TestReplaysOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook("b", domain.HookSpec{Scheme: domain.HookBearer, Input: `{"order": body.id + id}`})
	w.bearer("e1", `{}`)
	w.bearer("e1", `{}`)
	w.bearer("e2", `{}`)
	w.bearer("e2", `{"id": "x"}`)
	selected := func(state domain.DeliveryState) []string {
		t.Helper()
		ids, _, _, err := w.Store.Replayable(t.Context(), domain.ReplayFilter{Hook: h.ID, State: state, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	all := w.deliveries(h)
	if first := all[len(all)-1].ID; !slices.Equal(selected(domain.DeliveryRefused), []string{first}) {
		t.Errorf("selected %v, want %s", selected(domain.DeliveryRefused), first)
	}
	if got := selected(domain.DeliveryAccepted); !slices.Equal(got, []string{all[0].ID}) {
		t.Errorf("selected %v, want %s", got, all[0].ID)
	}
	h.Input = `{"order": id}`
	w.change(h)
	d, err := w.hooks.Replay(t.Context(), all[len(all)-1], "op")
	if err != nil || d.State != domain.DeliveryAccepted {
		t.Fatalf("%+v %v", d, err)
	}
	if r := w.Until(d.Run, domain.RunCompleted, ""); string(r.Output) != `"e1"` {
		t.Errorf("output %s", r.Output)
	}
	if got := selected(domain.DeliveryRefused); len(got) != 0 {
		t.Errorf("selected again: %v", got)
	}
	if d, err = w.hooks.Replay(t.Context(), all[1], "op"); err != nil || d.State != domain.DeliveryDuplicate || d.Run == "" {
		t.Errorf("replay of an event that was accepted later: %+v %v", d, err)
	}
}

// The runs of a hook have its profile. If the plan does not declare it any more, the delivery is refused.
func TestAHookHasAProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const with = `{id: order, values: {n: 1}, nodes: {a: {type: set, input: "${value.n}"}}, profiles: {prod: {values: {n: 2}}}}`
	w.Save(with)
	w.hook("orders", domain.HookSpec{Scheme: "bearer", Profile: "prod"})
	w.send("/hooks/orders", `{}`, "Authorization: Bearer "+secret, "Idempotency-Key: 1")
	list, err := w.Store.Runs(t.Context(), domain.RunFilter{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v, %v", list.Items, err)
	}
	if run := w.Until(list.Items[0].ID, domain.RunCompleted, ""); run.Profile != "prod" || string(run.Output) != "2" {
		t.Errorf("the run has the profile %q and the output %s", run.Profile, run.Output)
	}
	w.Save(strings.Replace(with, "prod:", "live:", 1))
	if answer := w.send("/hooks/orders", `{}`, "Authorization: Bearer "+secret, "Idempotency-Key: 2"); !strings.Contains(answer, "live") {
		t.Errorf("a delivery without the profile: %s", answer)
	}
}
