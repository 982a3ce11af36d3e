package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store reads hooks, and stores deliveries.
type Store interface {
	Hook(ctx context.Context, idOrKey string) (domain.Hook, error)
	Accepted(ctx context.Context, hook, key string) (domain.HookDelivery, error)
	RecordDelivery(ctx context.Context, d domain.HookDelivery) error
	// SendDelivered stores a signal with its delivery, unless a delivery with its key was accepted
	// before. It returns that one.
	SendDelivered(ctx context.Context, by domain.Actor, d domain.HookDelivery, s domain.Signal) (domain.HookDelivery, error)
	// SendCallback stores the signal of a callback to a run. It returns CodeNotFound if the run has
	// ended, or its address was used before.
	SendCallback(ctx context.Context, by domain.Actor, s domain.Signal) error
}

// Engine starts runs, and matches signals.
type Engine interface {
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	SignalStored(ctx context.Context, name, key string)
}

// Config configures a [Receiver]. Store and Engine are required, and Secret for deliveries.
type Config struct {
	Store  Store
	Engine Engine
	// Secret returns a secret of the configuration that hooks may use.
	Secret func(name string) (string, bool)
	// Mask hides secrets in a text that is stored.
	Mask func(text []byte) []byte
	// Announce delivers an event that is not stored, for open pages. It may be nil.
	Announce func(typ string, data map[string]any)
	// CallbackKey is the key that callback addresses are derived from.
	CallbackKey []byte
	// Rate returns the number of deliveries per second to a hook; default [domain.HookRate].
	Rate func() int
	Now  func() time.Time
	Log  *slog.Logger
}

// Receiver receives deliveries to hooks. It is safe for concurrent use.
type Receiver struct {
	Config
	limits  *limits
	decoy   string         // a secret that no sender has
	storing sync.WaitGroup // deliveries that are stored after their response
}

// New returns a receiver.
func New(c Config) *Receiver {
	if c.Mask == nil {
		c.Mask = func(text []byte) []byte { return text }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Rate == nil {
		c.Rate = func() int { return domain.HookRate }
	}
	return &Receiver{Config: c, limits: newLimits(c.Rate), decoy: rand.Text()}
}

// Request is an HTTP request to a hook.
type Request struct {
	Hook     string // key
	Header   http.Header
	Body     []byte
	TooLarge bool // the body has more than domain.MaxHookBody bytes
	Remote   string
}

// Outcome is a delivery with its state.
type Outcome struct {
	domain.HookDelivery
	// Challenge, if not empty, is the text that Slack wants back to know that the address is right.
	Challenge string
}

func tooManyDeliveries(rate int) error {
	return refuse(domain.CodeTooMany, "hook.rate", domain.Errorf(domain.CodeTooMany, "too many deliveries to this hook").
		Suggest("send at most %d per second", rate))
}

func tooLarge() error {
	return refuse(domain.CodeTooLarge, "hook.size", domain.Errorf(domain.CodeTooLarge, "the body exceeds %d MiB", domain.MaxHookBody>>20))
}

// Receive handles a delivery. The error is the reason of a refusal. It does not store the refused
// delivery of a sender that is not verified.
func (r *Receiver) Receive(ctx context.Context, q Request) (Outcome, error) {
	out := Outcome{HookDelivery: domain.HookDelivery{ID: domain.NewID(), Size: len(q.Body), Remote: q.Remote,
		ReceivedAt: r.Now().UTC().Truncate(time.Microsecond)}}
	h, secret, err := r.find(ctx, q.Hook)
	if err != nil {
		return out, err
	}
	out.HookID, out.Hook = h.ID, h.Key
	if err := r.admit(h, secret, q); err != nil {
		r.explain(&out.HookDelivery, err)
		if secret == r.decoy {
			out.Reason, out.Message = "hook.secret", "the secret of the hook is not configured"
		}
		out.Headers = r.headers(q.Header, func(name string) bool { return name == "content-type" || name == "user-agent" })
		return out, err
	}
	out.Verified, out.Headers, out.Body = true, r.headers(q.Header, hasNoCredentials), string(r.Mask(q.Body))
	ctx = context.WithoutCancel(ctx) // a sender that goes away does not interrupt the start of a run
	return out, r.settle(ctx, &out.HookDelivery, r.accept(ctx, h, q, &out))
}

// find returns a hook and its secret. An unknown hook and one without a secret get a secret that no
// sender has, and an unknown hook also gets a scheme. So the response to a wrong signature does not show
// whether the hook exists.
func (r *Receiver) find(ctx context.Context, key string) (h domain.Hook, secret string, err error) {
	h, err = r.Store.Hook(ctx, key)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound,
		err == nil && (h.Key != key || h.Scheme == domain.HookFiles): // key is an ID, or the hook has no address
		n := int(sha256.Sum256([]byte(key))[0]) % len(signedSchemes)
		return domain.Hook{HookSpec: domain.HookSpec{Scheme: signedSchemes[n]}}, r.decoy, nil
	case err != nil:
		return h, "", err
	}
	if secret, known := r.Secret(h.Secret); known {
		return h, secret, nil
	}
	return h, r.decoy, nil
}

// admit verifies the sender, and checks the limits of the hook.
func (r *Receiver) admit(h domain.Hook, secret string, q Request) error {
	if q.TooLarge {
		return tooLarge()
	}
	if err := verify(h.Scheme, secret, q.Header, q.Body, r.Now()); err != nil {
		return err
	}
	if !r.limits.delivery(h.ID, r.Now()) {
		return tooManyDeliveries(r.Rate())
	}
	return nil
}

// accept reads the delivery of a verified sender, and starts the run or sends the signal.
func (r *Receiver) accept(ctx context.Context, h domain.Hook, q Request, out *Outcome) error {
	if h.Paused != nil {
		return refuse(domain.CodeUnavailable, "hook.paused", domain.Errorf(domain.CodeUnavailable, "hook %s is paused", h.Key))
	}
	content, err := read(q.Header.Get("Content-Type"), q.Body)
	if err != nil {
		return refuse(domain.CodeInvalid, "hook.body", domain.Errorf(domain.CodeInvalid, "the body: %w", err))
	}
	if text := challenge(h.Scheme, content); text != "" {
		out.State, out.Reason, out.Challenge = domain.DeliveryFiltered, "hook.challenge", text
		return nil
	}
	if out.Event, err = eventID(h.Scheme, q.Header, content); err != nil {
		return err
	}
	out.Key = out.Event
	return r.take(ctx, h, &out.HookDelivery, content)
}

// explain stores the reason of a refusal in a delivery.
func (r *Receiver) explain(d *domain.HookDelivery, err error) {
	d.State, d.Run, d.Signal = domain.DeliveryRefused, "", ""
	d.Reason, d.Message = string(domain.CodeOf(err)), clip(string(r.Mask([]byte(err.Error()))))
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Reason != "" {
		d.Reason = e.Reason
	}
}

// settle stores a delivery of a verified sender that was not accepted. An accepted one is stored with
// its effect.
func (r *Receiver) settle(ctx context.Context, d *domain.HookDelivery, err error) error {
	if err != nil {
		r.explain(d, err)
	} else if d.State == domain.DeliveryAccepted {
		return nil
	}
	if stored := r.record(ctx, *d); stored != nil {
		r.Log.Error("a delivery cannot be stored", "hook", d.Hook, "err", stored)
		return cmp.Or(err, stored)
	}
	return err
}

// record stores a delivery that started nothing. Unlike others, it has no audit record that announces it.
func (r *Receiver) record(ctx context.Context, d domain.HookDelivery) error {
	err := r.Store.RecordDelivery(ctx, d)
	if err == nil && r.Announce != nil {
		r.Announce("hook_delivery", map[string]any{"object": "hook:" + d.Hook, "delivery": d.ID, "status": d.State})
	}
	return err
}

// keepRefusal stores a delivery of a sender that was not verified. Of many, it stores some. It does not
// wait, because the time of the write would show the sender that the hook exists.
func (r *Receiver) keepRefusal(out Outcome) {
	if out.Verified || out.HookID == "" || !r.limits.hook(out.HookID).stored.AllowN(r.Now(), 1) {
		return
	}
	r.storing.Go(func() {
		if err := r.record(context.Background(), out.HookDelivery); err != nil {
			r.Log.Error("a delivery cannot be stored", "hook", out.Hook, "err", err)
		}
	})
}

// Close waits until all deliveries are stored. No request may follow.
func (r *Receiver) Close() { r.storing.Wait() }

// read parses a body: JSON, a form, or text.
func read(contentType string, body []byte) (any, error) {
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case !utf8.Valid(body):
		return nil, errors.New("it is not UTF-8")
	case media == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		m := map[string]any{}
		for name, values := range form {
			m[name] = values[0]
		}
		if text, ok := m["payload"].(string); ok && len(m) == 1 { // a form around JSON
			return jsonvalue.Decode([]byte(text))
		}
		return m, err
	case strings.HasPrefix(media, "text/"):
		return string(body), nil
	case len(strings.TrimSpace(string(body))) == 0:
		return nil, nil
	}
	return jsonvalue.Decode(body)
}

// variables of the expressions of a hook.
var variables = []string{"body", "headers", "id"}

// signedSchemes are the schemes of hooks with an address.
var signedSchemes = slices.DeleteFunc(slices.Clone(domain.HookSchemes), func(s domain.HookScheme) bool { return s == domain.HookFiles })

// Check returns an error if an expression of a hook cannot be compiled.
func Check(s domain.HookSpec) error {
	for _, x := range []struct{ name, text string }{{"filter", s.Filter}, {"input", s.Input}, {"signal", s.Signal},
		{"signalKey", s.SignalKey}} {
		if x.text == "" {
			continue
		}
		if _, err := walk.ParseComputation(x.text, variables...); err != nil {
			return refuse(domain.CodeInvalid, "hook.expression", domain.Errorf(domain.CodeInvalid, "%s: %w", x.name, err))
		}
	}
	return nil
}

// evaluate computes an expression of a hook.
func evaluate(ctx context.Context, name, text string, d *domain.HookDelivery, content any) (any, error) {
	c, err := walk.ParseComputation(text, variables...)
	var v any
	if err == nil {
		headers := map[string]any{}
		for name, value := range d.Headers {
			headers[name] = value
		}
		v, err = c.Evaluate(ctx, map[string]any{"body": content, "headers": headers, "id": d.Event})
	}
	if err != nil {
		return nil, refuse(domain.CodeInvalid, "hook.expression", domain.Errorf(domain.CodeInvalid, "%s: %w", name, err))
	}
	return v, nil
}

// take applies the filter, and starts the run or sends the signal.
func (r *Receiver) take(ctx context.Context, h domain.Hook, d *domain.HookDelivery, content any) error {
	if first, err := r.Store.Accepted(ctx, h.ID, d.Key); err != nil || first.ID != "" {
		return duplicate(d, first, err)
	}
	if h.Filter != "" {
		v, err := evaluate(ctx, "filter", h.Filter, d, content)
		if err != nil {
			return err
		}
		if selected, ok := v.(bool); !ok {
			return refuse(domain.CodeInvalid, "hook.expression", domain.Errorf(domain.CodeInvalid, "the filter gave no boolean"))
		} else if !selected {
			d.State, d.Reason = domain.DeliveryFiltered, "hook.filter"
			return nil
		}
	}
	input := content
	if h.Input != "" {
		var err error
		if input, err = evaluate(ctx, "input", h.Input, d, content); err != nil {
			return err
		}
	}
	raw, err := jsonvalue.Encode(input)
	if err != nil {
		return refuse(domain.CodeInvalid, "hook.expression", domain.Errorf(domain.CodeInvalid, "input: %w", err))
	}
	d.State = domain.DeliveryAccepted
	if h.PlanID != "" {
		return r.start(ctx, h, d, raw)
	}
	return r.send(ctx, h, d, content, raw)
}

func duplicate(d *domain.HookDelivery, first domain.HookDelivery, err error) error {
	if err != nil {
		return err
	}
	// The body is stored with the accepted delivery.
	d.State, d.Reason, d.Run, d.Signal, d.Body = domain.DeliveryDuplicate, "hook.duplicate", first.Run, first.Signal, ""
	return nil
}

// actorOf is the actor of a hook's runs and signals.
func actorOf(h domain.Hook) domain.Actor {
	return domain.Actor{Name: h.Actor, Role: domain.RoleOperator, Source: domain.OriginHook}
}

func (r *Receiver) start(ctx context.Context, h domain.Hook, d *domain.HookDelivery, input domain.RawJSON) error {
	run, err := r.Engine.Start(ctx, actorOf(h), domain.StartRequest{Plan: h.PlanID, Version: h.Version, Profile: h.Profile, Input: input,
		Labels: h.RunLabels(), Origin: domain.OriginHook, Delivery: d})
	if err != nil {
		return err
	}
	d.Run = run.ID
	return r.confirm(ctx, d)
}

func (r *Receiver) send(ctx context.Context, h domain.Hook, d *domain.HookDelivery, content any, data domain.RawJSON) error {
	s := domain.Signal{ID: domain.NewID(), Data: data, Source: domain.OriginHook + ":" + h.Key, Actor: h.Actor, CreatedAt: d.ReceivedAt,
		ExpiresAt: d.ReceivedAt.Add(domain.SignalLifetime)}
	name, err := evaluate(ctx, "signal", h.Signal, d, content)
	if err != nil {
		return err
	}
	s.Name = jsonvalue.Text(name)
	if h.SignalKey != "" {
		key, err := evaluate(ctx, "signalKey", h.SignalKey, d, content)
		if err != nil {
			return err
		}
		s.Key = jsonvalue.Text(key)
	}
	if err := domain.CheckSignalName(s.Name, s.Key); err != nil {
		return err
	}
	if len(s.Data) > domain.MaxSignalData {
		return domain.Errorf(domain.CodeTooLarge, "the data of the signal exceeds %d KiB", domain.MaxSignalData>>10)
	}
	d.Signal = s.ID
	first, err := r.Store.SendDelivered(ctx, actorOf(h), *d, s)
	if err != nil || first.ID != "" {
		return duplicate(d, first, err)
	}
	r.Engine.SignalStored(ctx, s.Name, s.Key)
	return nil
}

// confirm marks a delivery as a duplicate if another one with its key started the run at the same time.
func (r *Receiver) confirm(ctx context.Context, d *domain.HookDelivery) error {
	first, err := r.Store.Accepted(ctx, d.HookID, d.Key)
	if err == nil && first.ID != d.ID {
		return duplicate(d, first, nil)
	}
	return err
}

// Replay repeats a delivery. The key of the replay names the delivery and the operation, so a repeated
// replay of the same operation does nothing. Expressions read the ID of the original event.
func (r *Receiver) Replay(ctx context.Context, original domain.HookDelivery, operation string) (domain.HookDelivery, error) {
	d := domain.HookDelivery{ID: domain.NewID(), HookID: original.HookID, Hook: original.Hook, Event: original.Event,
		Key: replayPrefix + original.ID + ":" + operation, Headers: original.Headers, Body: original.Body, Size: original.Size,
		Remote: original.Remote, Verified: true, ReplayOf: original.ID, ReceivedAt: r.Now().UTC().Truncate(time.Microsecond)}
	if err := original.CheckReplay(); err != nil {
		return d, err
	}
	h, err := r.Store.Hook(ctx, original.HookID)
	if err != nil {
		return d, err
	}
	if original.State != domain.DeliveryAccepted && original.Event != "" { // the sender may have repeated it
		if first, err := r.Store.Accepted(ctx, h.ID, original.Event); err != nil || first.ID != "" {
			return d, duplicate(&d, first, err)
		}
	}
	content, err := read(original.Headers["content-type"], []byte(original.Body))
	if err == nil {
		err = r.take(ctx, h, &d, content)
	}
	if err == nil && d.State == domain.DeliveryDuplicate {
		return d, nil
	}
	return d, r.settle(ctx, &d, err)
}

// credentials are parts of the names of headers that are not stored.
var credentials = []string{"auth", "cookie", "credential", "key", "password", "secret", "signature", "token"}

// hasNoCredentials reports whether a header, in lower case, contains no credentials.
func hasNoCredentials(name string) bool {
	return name == "idempotency-key" || !slices.ContainsFunc(credentials, func(part string) bool { return strings.Contains(name, part) })
}

// headers returns the selected headers that are stored and that expressions can read, in lower case.
func (r *Receiver) headers(h http.Header, selected func(name string) bool) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		lower := strings.ToLower(name)
		if selected(lower) && len(values) > 0 && utf8.ValidString(name+values[0]) {
			out[lower] = clip(string(r.Mask([]byte(values[0]))))
		}
	}
	return out
}

// clip shortens a text that is stored.
func clip(s string) string {
	const limit = 1024
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
