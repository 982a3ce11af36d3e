package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Payment is an entry of the ledger.
type Payment struct {
	Receipt string
	Amount  int
	Key     string // idempotency key
	Calls   int    // number of requests
}

// ledger is the bank of a demonstration. It books each idempotency key once, and never answers the
// first call, because its caller is killed.
type ledger struct {
	server *http.Server
	url    string
	booked func([]Payment)
	// first is closed when the first payment is booked.
	first chan struct{}

	mu       sync.Mutex
	payments []Payment
}

// openLedger serves a ledger on a port of this machine. Its address contains a secret, because
// every local program can call the port.
func openLedger(booked func([]Payment)) (*ledger, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "cannot open the ledger of the demonstration: %w", err)
	}
	path := "/" + domain.NewID() + "/payments"
	l := &ledger{url: "http://" + ln.Addr().String() + path, booked: booked, first: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+path, l.pay)
	l.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = l.server.Serve(ln) }() // until it is closed
	return l, nil
}

func (l *ledger) close() { _ = l.server.Close() } // nothing can be lost

func (l *ledger) pay(w http.ResponseWriter, r *http.Request) {
	var order struct{ Amount int }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&order); err != nil {
		http.Error(w, "invalid payment", http.StatusBadRequest)
		return
	}
	p, all := l.book(r.Header.Get("Idempotency-Key"), order.Amount)
	l.booked(all)
	if len(all) == 1 && p.Calls == 1 {
		close(l.first)
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, p.answer()) // the caller may be gone
}

// book books a payment, unless its key is known.
func (l *ledger) book(key string, amount int) (Payment, []Payment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.payments, func(p Payment) bool { return p.Key == key })
	if i < 0 {
		i = len(l.payments)
		l.payments = append(l.payments, Payment{Receipt: fmt.Sprintf("r-%d", i+1), Amount: amount, Key: key})
	}
	l.payments[i].Calls++
	return l.payments[i], slices.Clone(l.payments)
}

// answer returns the ledger's response to a request for the payment.
func (p Payment) answer() string { return fmt.Sprintf(`{"receipt": %q}`, p.Receipt) }

// paid waits for the first payment.
func (l *ledger) paid(ctx context.Context) (Payment, error) {
	select {
	case <-l.first:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.payments[0], nil
	case <-ctx.Done():
		return Payment{}, context.Cause(ctx)
	}
}
