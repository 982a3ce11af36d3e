package daemon

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/config"
)

// guarded lists everything that no tool may use: the data directory, by inode, and the files of the
// configuration. A root of the file tools inside the data directory stays usable, as in the
// documentation's example. kairosd's own files there are then guarded one by one.
func (s *server) guarded(cfg config.Config) []string {
	socket, _ := config.SocketOf(s.listen.address)
	own := append(
		assemble.OwnFiles(s.store),
		socket,
		s.ConfigFile,
		s.Dir.SetupFile(),
		s.Dir.HealthMetrics(),
		s.Dir.Socket(),
		startsOf(string(s.Dir)).path,
		failureFile(string(s.Dir)),
		s.Dir.Backups(cfg),
		cfg.Server.TLSKey,
		cfg.Engine.Temporal.PayloadKeyFile,
	)
	if o := cfg.Login.OIDC; o != nil {
		own = append(own, o.ClientSecretFile)
	}
	own = append(own, cfg.Engine.Temporal.DecryptKeyFiles...)
	own = append(own, cfg.Notifications.Files()...)
	for _, secret := range cfg.Secrets {
		own = append(own, secret.File)
	}
	whole := true
	for _, root := range cfg.Tools.Files.Roots {
		if inside(root, string(s.Dir)) {
			whole = false
			s.log.Warn("a root of the file tools is inside the data directory; use separate directories", "root", root, "data",
				string(s.Dir))
		}
	}
	if whole {
		own = append(own, string(s.Dir))
	}
	return slices.DeleteFunc(own, func(p string) bool { return p == "" })
}

// inside reports whether a path is a directory or is inside it. Links are resolved.
func inside(path, dir string) bool {
	target, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return false
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, target) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
		path = filepath.Dir(path)
	}
}
