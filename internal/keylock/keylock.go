// Package keylock provides one mutex per key.
package keylock

import "sync"

// Locks is a mutex per key. An unused key takes no memory. The zero value is ready for use.
type Locks struct {
	mu    sync.Mutex
	locks map[string]*keyLock
}

// keyLock is a channel, not a mutex: in a test with virtual time, the clock advances while someone
// waits for it.
type keyLock struct {
	held  chan struct{} // has an element while the key is locked
	users int           // holders and waiters
}

// Lock locks a key and returns the function that unlocks it.
func (l *Locks) Lock(key string) (unlock func()) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = map[string]*keyLock{}
	}
	k := l.locks[key]
	if k == nil {
		k = &keyLock{held: make(chan struct{}, 1)}
		l.locks[key] = k
	}
	k.users++
	l.mu.Unlock()
	k.held <- struct{}{}
	return func() {
		<-k.held
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.locks, key)
		}
	}
}
