package notify_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/notify"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
)

// receiver is a webhook that records what it receives.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []domain.Notification
	ids    []string
	bad    []string
	answer int
	retry  string
}

const secret = "what both sides know"

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{answer: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if want := notify.Sign(secret, req.Header.Get("Webhook-Id"), req.Header.Get("Webhook-Timestamp"), body); req.Header.Get(
			"Webhook-Signature",
		) != want {
			r.bad = append(r.bad, req.Header.Get("Webhook-Signature"))
		}
		var m domain.Notification
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		if r.retry != "" {
			w.Header().Set("Retry-After", r.retry)
		}
		if r.answer == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/")
		}
		w.WriteHeader(r.answer)
		if r.answer == http.StatusOK {
			r.got, r.ids = append(r.got, m), append(r.ids, req.Header.Get("Webhook-Id"))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take() []domain.Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got
	r.got = nil
	return out
}

func (r *receiver) set(code int) { r.mu.Lock(); r.answer = code; r.mu.Unlock() }

// fixture is a store with a service that sends notifications about its events.
type fixture struct {
	t     *testing.T
	store *store.Store
	now   time.Time
	*notify.Service
}

func open(t *testing.T, s *store.Store, private []string, channels ...notify.Channel) *fixture {
	t.Helper()
	d := &fixture{t: t, store: s, now: time.Now()}
	dialer, err := tool.NewDialer(nil, private)
	if err != nil {
		t.Fatal(err)
	}
	if d.Service, err = notify.New(notify.Config{Store: s, Channels: channels, Dialer: dialer, URL: "https://kairos.example.com",
		Now: func() time.Time { return d.now }}); err != nil {
		t.Fatal(err)
	}
	return d
}

var loopback = []string{"127.0.0.0/8"}

func (d *fixture) pass() {
	d.t.Helper()
	if _, err := d.Pass(context.Background()); err != nil {
		d.t.Fatal(err)
	}
}

// run stores a run that has ended or that waits.
func (d *fixture) run(plan string, status domain.RunStatus, reason domain.WaitReason, headline string) domain.Run {
	d.t.Helper()
	return d.runFrom("api", plan, status, reason, headline)
}

func (d *fixture) runFrom(origin, plan string, status domain.RunStatus, reason domain.WaitReason, headline string) domain.Run {
	d.t.Helper()
	r := storetest.RunFrom(d.t, d.store, storetest.Plan(d.t, d.store, "id: "+plan+"\nnodes: {a: {type: set, input: 1}}\n"), "null",
		origin)
	detail, err := json.Marshal(map[string]any{"status": status, "waitReason": reason, "statusMessage": headline})
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.store.Audit(d.t.Context(), domain.AuditRecord{Action: "run.status", Actor: "system", Run: r.ID,
		Detail: detail}); err != nil {
		d.t.Fatal(err)
	}
	return r
}

func hook(url string, on ...string) notify.Channel {
	return notify.Channel{Name: "ops", On: on, Webhook: &notify.Webhook{URL: url, Secret: secret}}
}

func TestFailuresAreSentOnceAndSigned(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	d := open(t, storetest.Open(t), loopback, hook(r.URL))
	d.run("old", domain.RunFailed, "", "before anybody was told")
	d.pass() // earlier events cause no notification
	run := d.run("ledger", domain.RunFailed, "", "the bank is\nclosed")
	d.run("ledger", domain.RunCompleted, "", "")
	d.pass()
	got := r.take()
	if len(got) != 1 || got[0].Kind != "failed" || got[0].Run == nil || got[0].Run.ID != run.ID || got[0].Run.Plan.Key != "ledger" ||
		got[0].Run.URL != "https://kairos.example.com/runs/"+run.ID ||
		!strings.Contains(got[0].Text, "the bank is") {
		t.Fatalf("told: %+v", got)
	}
	if len(r.bad) > 0 || got[0].ID != r.ids[0] {
		t.Errorf("signatures %q, id %q %q", r.bad, got[0].ID, r.ids)
	}
	d.pass()
	if again := r.take(); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	list, err := d.store.Deliveries(t.Context(), "ops", 10)
	if err != nil || len(list) != 1 || list[0].Status != domain.DeliverySent || list[0].Attempts != 1 || list[0].EndedAt.IsZero() {
		t.Errorf("%+v %v", list, err)
	}
}

// A run that fails after the start of a new server, and before the first pass, has a notification.
func TestAFailureBeforeTheFirstPass(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	d := open(t, storetest.Open(t), loopback, hook(r.URL))
	d.run("old", domain.RunFailed, "", "before the start")
	if err := d.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := d.run("ledger", domain.RunFailed, "", "the bank is closed")
	d.pass()
	if got := r.take(); len(got) != 1 || got[0].Run == nil || got[0].Run.ID != run.ID {
		t.Fatalf("received: %+v", got)
	}
}

// An outage causes one message, and later one with the number of further failures.
func TestAnOutageIsOneMessage(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	d := open(t, storetest.Open(t), loopback, hook(r.URL))
	d.pass()
	for range 50 {
		d.run("ledger", domain.RunFailed, "", "the bank is closed")
	}
	d.run("other", domain.RunFailed, "", "something else")
	for range 3 {
		d.run("refund", domain.RunWaiting, domain.WaitApproval, "Refund?")
	}
	d.pass()
	kinds := map[string]int{}
	for _, m := range r.take() {
		kinds[m.Kind+" "+m.Run.Plan.Key]++
	}
	if kinds["failed ledger"] != 1 || kinds["failed other"] != 1 || kinds["approval refund"] != 3 {
		t.Errorf("told: %v", kinds)
	}
	d.pass()
	if more := r.take(); len(more) != 0 {
		t.Errorf("the quiet time is not over: %+v", more)
	}
	d.now = d.now.Add(notify.Quiet + time.Second)
	d.pass()
	if more := r.take(); len(more) != 1 || more[0].More != 49 || !strings.HasPrefix(more[0].Text, "49 more like this: ") {
		t.Errorf("afterwards: %+v", more)
	}
	d.now = d.now.Add(notify.Quiet + time.Second)
	d.pass()
	if more := r.take(); len(more) != 0 {
		t.Errorf("and again: %+v", more)
	}
}

func TestAFailedDeliveryIsRetried(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	d := open(t, storetest.Open(t), loopback, hook(r.URL))
	d.pass()
	state := func() domain.Delivery {
		t.Helper()
		list, err := d.store.Deliveries(t.Context(), "ops", 1)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	r.set(http.StatusServiceUnavailable)
	d.run("a", domain.RunFailed, "", "x")
	d.pass()
	d.pass() // not due yet
	if s := state(); s.Status != domain.DeliveryPending || s.Attempts != 1 || !strings.Contains(s.Error, "503") ||
		s.DueAt.Sub(d.now) < 9*time.Second {
		t.Errorf("%+v", s)
	}
	r.retry = "7200"
	d.now = d.now.Add(time.Minute)
	d.pass()
	if s := state(); s.Attempts != 2 || s.DueAt.Sub(d.now) < 119*time.Minute {
		t.Errorf("Retry-After is not honoured: %+v", s)
	}
	r.set(http.StatusOK)
	d.now = d.now.Add(3 * time.Hour)
	d.pass()
	if s := state(); s.Status != domain.DeliverySent || s.Attempts != 3 || s.Error != "" || len(r.take()) != 1 {
		t.Errorf("%+v", s)
	}
	// A rejection is final, and so is the last attempt. Redirects are not followed.
	r.retry = ""
	for code, attempts := range map[int]int{http.StatusGone: 1, http.StatusFound: 1, http.StatusInternalServerError: 8} {
		r.set(code)
		d.run(fmt.Sprint("b", code), domain.RunFailed, "", "x")
		for range 12 {
			d.pass()
			d.now = d.now.Add(13 * time.Hour)
		}
		if s := state(); s.Status != domain.DeliveryFailed || s.Attempts != attempts || !strings.Contains(s.Error, fmt.Sprint(code)) {
			t.Errorf("%d: %+v", code, s)
		}
	}
}

// The next start sends what was stored or due before the crash, under the same id.
func TestACrashLosesNoMessage(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	path := filepath.Join(t.TempDir(), "kairos.db")
	first, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, first, loopback, hook(r.URL))
	d.pass()
	r.set(http.StatusInternalServerError)
	d.run("a", domain.RunFailed, "", "stored, not sent")
	d.pass()
	d.run("b", domain.RunFailed, "", "not even seen")
	before, err := first.Deliveries(t.Context(), "ops", 10)
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	d = open(t, second, loopback, hook(r.URL))
	d.now = time.Now().Add(time.Hour)
	r.set(http.StatusOK)
	d.pass()
	got := r.take()
	plans := map[string]string{}
	for _, m := range got {
		plans[m.Run.Plan.Key] = m.ID
	}
	if len(got) != 2 || plans["a"] != before[0].ID || plans["b"] == "" {
		t.Errorf("told after the restart: %+v", got)
	}
}

// A notification cannot be used to send requests to private addresses.
func TestPrivateReceiversAreRefused(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	d := open(t, storetest.Open(t), nil, hook(r.URL))
	got, err := d.Test(t.Context(), domain.Actor{Name: "marta", Role: domain.RoleAdmin}, "ops")
	if err != nil || got.Status == domain.DeliverySent || !strings.Contains(got.Error, "not a public address") || len(r.take()) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := d.Test(t.Context(), domain.Actor{Name: "marta", Role: domain.RoleAdmin}, "none"); domain.CodeOf(
		err,
	) != domain.CodeNotFound {
		t.Errorf("no such channel: %v", err)
	}
}

func TestPlansAndKindsAreChosen(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	c := hook(r.URL, "completed")
	c.Plans = []string{"wanted"}
	d := open(t, storetest.Open(t), loopback, c)
	d.pass()
	d.run("wanted", domain.RunCompleted, "", "")
	d.run("wanted", domain.RunFailed, "", "")
	d.run("other", domain.RunCompleted, "", "")
	d.runFrom(domain.OriginDry, "wanted", domain.RunCompleted, "", "") // a dry run has no notifications
	d.pass()
	if got := r.take(); len(got) != 1 || got[0].Kind != "completed" || got[0].Run.Plan.Key != "wanted" {
		t.Errorf("told: %+v", got)
	}
}

// mailServer is a minimal SMTP server.
func mailServer(t *testing.T, refuse string) (address string, mails chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	mails = make(chan string, 10)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				send := func(s string) { fmt.Fprint(conn, s+"\r\n") }
				send("220 test")
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					switch verb := strings.ToUpper(strings.Fields(line + " x")[0]); {
					case verb == "EHLO" || verb == "HELO":
						send("250 test")
					case verb == "RCPT" && refuse != "":
						send(refuse)
					case verb == "DATA":
						send("354 go on")
						var b strings.Builder
						for {
							line, err := in.ReadString('\n')
							if err != nil {
								return
							}
							if line == ".\r\n" {
								break
							}
							b.WriteString(line)
						}
						mails <- b.String()
						send("250 taken")
					case verb == "QUIT":
						send("221 bye")
						return
					default:
						send("250 ok")
					}
				}
			}()
		}
	}()
	return ln.Addr().String(), mails
}

// Text of a run never becomes a header of a mail.
func TestMail(t *testing.T) {
	t.Parallel()
	address, mails := mailServer(t, "")
	c := notify.Channel{
		Name: "mail",
		Email: &notify.Email{
			Server: address,
			TLS:    "none",
			From:   "kairos@example.com",
			To:     []string{"ops@example.com", "marta@example.com"},
		},
	}
	d := open(t, storetest.Open(t), loopback, c)
	d.pass()
	d.run("ledger", domain.RunFailed, "", "ñ\r\nBcc: eve@example.com\r\n\r\n.\r\nevil")
	d.pass()
	var mail string
	select {
	case mail = <-mails:
	case <-time.After(time.Minute):
		t.Fatal("no mail")
	}
	head, body, _ := strings.Cut(mail, "\r\n\r\n")
	if strings.Contains(head, "\nBcc:") || !strings.Contains(head, "To: ops@example.com, marta@example.com") ||
		!strings.Contains(head, "Auto-Submitted: auto-generated") ||
		!strings.Contains(body, "/runs/") {
		t.Errorf("%s", mail)
	}
	for line := range strings.Lines(head) {
		if subject, ok := strings.CutPrefix(line, "Subject: "); ok {
			if text, err := new(mime.WordDecoder).DecodeHeader(strings.TrimSpace(subject)); err != nil ||
				!strings.Contains(text, "ledger failed: ñ") {
				t.Errorf("%q %v", text, err)
			}
		}
	}
	address, _ = mailServer(t, "550 no such person")
	c.Email.Server = address
	d = open(t, storetest.Open(t), loopback, c)
	if got, err := d.Test(t.Context(), domain.Actor{Name: "marta", Role: domain.RoleAdmin}, "mail"); err != nil ||
		got.Status != domain.DeliveryFailed ||
		!strings.Contains(got.Error, "no such person") {
		t.Errorf("%+v %v", got, err)
	}
}

// A budget sends one notification when a window reaches its soft line.
func TestTheSoftLineOfABudgetIsOneMessage(t *testing.T) {
	t.Parallel()
	r, s := newReceiver(t), storetest.Open(t)
	storetest.Plan(t, s, "id: p\nnodes:\n  a: {type: noop}\n") // kairosd does not notify about the first event
	d := open(t, s, loopback, hook(r.URL, "budget"))
	d.pass()
	b := domain.Budget{ID: domain.NewID(), Key: "team", BudgetSpec: domain.BudgetSpec{Scope: "all", Period: "day", Zone: "UTC",
		Unit: "tokens",
		Soft: 10}}
	if _, _, err := s.Do(store.Operation{Name: "budget", By: domain.System, At: time.Now()}, func(tx *store.Tx) (string, error) {
		return "", tx.Budgets().Create(b, nil)
	}); err != nil {
		t.Fatal(err)
	}
	start := time.Now().Truncate(24 * time.Hour)
	for _, call := range []string{"below", "above", "further above"} {
		if err := s.HoldBudgets(t.Context(), []domain.BudgetHold{{Call: call, Budget: b.ID, Start: start, End: start.AddDate(0, 0, 1),
			Amount: 6}}); err != nil {
			t.Fatal(err)
		}
		if err := s.ChargeBudgets(t.Context(), []domain.BudgetCharge{{Call: call, Usage: domain.Usage{InputTokens: 6}}}); err != nil {
			t.Fatal(err)
		}
		d.pass()
	}
	if got := r.take(); len(got) != 1 || got[0].Kind != "budget" || !strings.Contains(got[0].Text, "budget team reached its soft line") {
		t.Errorf("told: %+v", got)
	}
}
