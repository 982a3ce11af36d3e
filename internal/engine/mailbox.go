package engine

import (
	"sync"
	"sync/atomic"
)

// mailbox holds the messages to a runner until it takes them. Any goroutine may post. Only the
// runner takes messages and closes the mailbox.
type mailbox struct {
	mu     sync.Mutex
	mail   []message   // guarded by mu
	closed bool        // guarded by mu; set once, by the runner
	filled atomic.Bool // mail is not empty: written under mu, and read by the runner without it
	wake   chan struct{}
}

func newMailbox() mailbox { return mailbox{wake: make(chan struct{}, 1)} }

// post adds a message and wakes the runner. It returns false if the mailbox is closed.
func (b *mailbox) post(m message) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.mail = append(b.mail, m)
	b.filled.Store(true)
	b.mu.Unlock()
	b.wakeOnce()
	return true
}

// wakeOnce wakes the runner once, now or when it next waits.
func (b *mailbox) wakeOnce() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take empties the mailbox.
func (b *mailbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	mail := b.mail
	b.mail = nil
	b.filled.Store(false)
	return mail
}

// close closes the mailbox if it is empty.
func (b *mailbox) close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.mail) > 0 {
		return false
	}
	b.closed = true
	return true
}

// stopRequested reports whether a stop message is waiting.
func (b *mailbox) stopRequested() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.mail {
		if _, ok := m.(stopMsg); ok {
			return true
		}
	}
	return false
}
