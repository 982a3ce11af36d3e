package vfstest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Recording is a sequence of operations.
type Recording struct {
	Ops  []Op
	Side []int64 // size of the watched file before each operation
}

// Loss is the effect of a power cut on unsynced writes.
type Loss string

// Kinds of loss.
const (
	Kept    Loss = "kept"    // all writes reached the disk
	Lost    Loss = "lost"    // no write did
	Torn    Loss = "torn"    // all but the last, of which only some sectors did
	Some    Loss = "some"    // an arbitrary subset did
	Garbage Loss = "garbage" // an arbitrary subset did, and some sectors of others contain noise
	Prefix  Loss = "prefix"  // the writes before some moment did
)

// Losses lists all kinds of loss.
var Losses = []Loss{Kept, Lost, Torn, Some, Garbage, Prefix}

const sector = 512

// content is the content of one file and its pending operations.
type content struct {
	durable []byte
	there   bool // the file existed at its last sync
	pending []Op
}

// Disk is the state of the files during the replay of a recording.
type Disk struct {
	files map[string]*content
}

// NewDisk returns a disk with durable files.
func NewDisk(files map[string][]byte) *Disk {
	d := &Disk{files: map[string]*content{}}
	for name, b := range files {
		d.files[name] = &content{durable: b, there: true}
	}
	return d
}

// Do replays one operation.
func (d *Disk) Do(op Op) {
	c := d.files[op.File]
	if c == nil {
		c = &content{}
		d.files[op.File] = c
	}
	if op.Kind != Sync {
		c.pending = append(c.pending, op)
		return
	}
	c.durable, c.there = c.apply(c.pending)
	c.pending = nil
}

// apply returns the content of a file after operations.
func (c *content) apply(ops []Op) ([]byte, bool) {
	b, there := c.durable, c.there
	owned := false
	own := func(size int64) {
		if !owned || int64(len(b)) < size {
			grown := make([]byte, max(size, int64(len(b))), max(size, int64(len(b)))+1<<16)
			copy(grown, b)
			b, owned = grown, true
		}
	}
	for _, op := range ops {
		switch op.Kind {
		case Open:
			there = true
		case Write:
			own(op.Offset + int64(len(op.Data)))
			copy(b[op.Offset:], op.Data)
			there = true
		case Truncate:
			own(op.Size)
			b = b[:op.Size]
		case Delete:
			b, there, owned = nil, false, false
		}
	}
	return b, there
}

// Cut returns the files after a power cut at this moment. The same seed yields the same files.
func (d *Disk) Cut(loss Loss, seed uint64) map[string][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		c := d.files[name]
		if b, there := c.apply(survivors(c.pending, loss, r)); there {
			out[name] = b
		}
	}
	return out
}

// survivors returns the operations that reached the disk.
func survivors(pending []Op, loss Loss, r *rand.Rand) []Op {
	if len(pending) == 0 {
		return nil
	}
	switch loss {
	case Kept:
		return pending
	case Lost:
		return nil
	case Prefix:
		return pending[:r.IntN(len(pending)+1)]
	case Torn:
		last := pending[len(pending)-1]
		if last.Kind == Write {
			keep := r.IntN(len(last.Data)/sector+1) * sector
			last.Data = last.Data[:min(keep, len(last.Data))]
		}
		return append(slices.Clone(pending[:len(pending)-1]), last)
	}
	var out []Op
	for _, op := range pending {
		switch {
		case r.IntN(2) == 0:
			out = append(out, op)
		case loss == Garbage && op.Kind == Write:
			noise := make([]byte, len(op.Data))
			for i := range noise {
				noise[i] = byte(r.Uint32())
			}
			for s := 0; s+sector <= len(noise); s += sector { // some sectors contain the written data
				if r.IntN(2) == 0 {
					copy(noise[s:s+sector], op.Data[s:])
				}
			}
			op.Data = noise
			out = append(out, op)
		}
	}
	return out
}

// Put writes files into a new directory.
func Put(dir string, files map[string][]byte) error {
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return fmt.Errorf("put %s: %w", name, err)
		}
	}
	return nil
}
