package tool

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Guard protects kairosd's own listeners, and its data, configuration, key, and socket files from
// all tools. It may change while tools run, because the addresses of listeners are known only after
// the start.
type Guard struct {
	mu        sync.RWMutex
	listeners []netip.AddrPort
	files     []string
}

// Listeners protects these addresses from all tools, in addition to earlier ones.
func (g *Guard) Listeners(addrs ...net.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range addrs {
		if tcp, ok := a.(*net.TCPAddr); ok {
			ap := tcp.AddrPort()
			g.listeners = append(g.listeners, netip.AddrPortFrom(plain(ap.Addr()), ap.Port()))
		}
	}
}

// Files protects files, and directories with their content, from all tools, in addition to earlier
// ones. They need not exist yet.
func (g *Guard) Files(paths ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.add(paths)
}

// add is Files for callers that hold the lock.
func (g *Guard) add(paths []string) {
	for _, p := range paths {
		if abs, err := filepath.Abs(p); err == nil {
			g.files = append(g.files, abs)
		}
	}
}

// Only protects these files and no others, so that files of a previous configuration are released.
// Listeners stay.
func (g *Guard) Only(paths ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.files = nil
	g.add(paths)
}

// plain returns an address without zone, with IPv4-mapped addresses as IPv4.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// own reports whether a connection to the address would reach kairosd itself.
func (g *Guard) own(target netip.AddrPort) bool {
	g.mu.RLock()
	listeners := g.listeners
	g.mu.RUnlock()
	ip := plain(target.Addr())
	for _, l := range listeners {
		if l.Port() != target.Port() {
			continue
		}
		switch {
		case l.Addr() == ip, local(ip) && (l.Addr().IsUnspecified() || local(l.Addr())):
			return true
		}
	}
	return false
}

// local reports whether an address belongs to this machine.
func local(ip netip.Addr) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true // if it is unknown, the address counts as local
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(n.IP)
		return ok && plain(own) == ip
	})
}

// protects reports whether a path is a guarded file, under any name. Hard links and symbolic links
// lead to the same inode.
func (g *Guard) protects(path string) bool {
	g.mu.RLock()
	files := g.files
	g.mu.RUnlock()
	if len(files) == 0 {
		return false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	names := []string{path}
	if real, missing := resolve(path); real != "" {
		names = append(names, filepath.Join(real, missing))
	}
	for _, name := range names {
		// Check the file itself and every directory that contains it.
		for at := name; ; at = filepath.Dir(at) {
			if slices.ContainsFunc(files, func(f string) bool { return samePath(at, f) }) {
				return true
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return false
}

// resolve follows symbolic links of the longest part of a path that exists.
func resolve(path string) (real, missing string) {
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return real, missing
		}
		missing = filepath.Join(filepath.Base(at), missing)
		if at == filepath.Dir(at) {
			return "", ""
		}
	}
}

// samePath compares existing files by inode, and others by name within one directory.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(x, y)
	}
	if filepath.Base(a) != filepath.Base(b) {
		return false
	}
	x, errA = os.Stat(filepath.Dir(a))
	y, errB = os.Stat(filepath.Dir(b))
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// protectsFile is protects for an open file. A hard link leads to the same inode.
func (g *Guard) protectsFile(info os.FileInfo) bool {
	g.mu.RLock()
	files := g.files
	g.mu.RUnlock()
	linked := true
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		linked = st.Nlink > 1
	}
	return slices.ContainsFunc(files, func(f string) bool {
		other, err := os.Stat(f)
		if err != nil {
			return false
		}
		if os.SameFile(info, other) {
			return true
		}
		return linked && other.IsDir() && holds(f, info)
	})
}

// holds reports whether a directory contains a file, under any name. If the directory cannot be
// read, it returns true.
func holds(dir string, info os.FileInfo) bool {
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		other, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed in the meantime
		} else if err != nil {
			return err
		}
		if os.SameFile(info, other) {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found || err != nil
}
