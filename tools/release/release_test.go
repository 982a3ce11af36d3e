package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The tests make one release for this machine and use its files as an administrator would.

const testVersion = "1.2.3"

var releaseDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kairosd-release-test-")
	if err != nil {
		return "", err
	}
	madeIn = dir
	return dir, run(context.Background(), []string{"-version", testVersion, "-out", dir, "-platforms", "linux/" + runtime.GOARCH,
		"-url", "http://kairosd.invalid", "-license", "unknown"})
})

// madeIn is the directory of the release. It is empty until a test needs one.
var madeIn string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(madeIn)
	os.Exit(code)
}

func made(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("packages are for Linux")
	}
	dir, err := releaseDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// needs skips a test without these programs, or as another user than root. With KAIROS_REQUIRE it fails.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	required := strings.Split(os.Getenv("KAIROS_REQUIRE"), ",")
	missing := func(what string, isRequired bool) {
		if isRequired {
			t.Fatalf("%s is missing", what)
		}
		t.Skipf("%s is missing", what)
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing(p, slices.Contains(required, p))
		}
	}
	if os.Getuid() != 0 {
		missing("root", slices.Contains(required, "root"))
	}
}

// A system is a directory that programs see as their root.
type system struct {
	t        *testing.T
	root     string
	uid, gid int
}

// The Debian package installs into a root, and its service runs a plan as its own user, with the
// command line of the unit.
func TestTheDebianPackageRunsAPlan(t *testing.T) {
	dir := made(t)
	needs(t, "dpkg", "useradd")
	root := t.TempDir()
	for _, d := range []string{"etc", "var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers", "tmp", "run"} {
		must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	must(t, os.Chmod(filepath.Join(root, "tmp"), 0o1777))
	must(t, os.Chmod(root, 0o755))
	for path, text := range map[string]string{"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n",
		"etc/shadow": "root:*:1::::::\n", "etc/gshadow": "root:*::\n", "var/lib/dpkg/status": "", "var/lib/dpkg/available": ""} {
		must(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o644))
	}
	deb := filepath.Join(dir, "kairosd_"+testVersion+"_"+runtime.GOARCH+".deb")
	dpkg := func(args ...string) string {
		t.Helper()
		args = append([]string{"--root=" + root, "--force-script-chrootless", "--force-depends"}, args...)
		out, err := exec.Command("dpkg", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	dpkg("--install", deb)

	passwd, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
	must(t, err)
	m := regexp.MustCompile(`(?m)^kairos:x:(\d+):(\d+):[^:]*:/var/lib/kairos:/usr/sbin/nologin$`).FindStringSubmatch(string(passwd))
	if m == nil {
		t.Fatalf("the package created no user:\n%s", passwd)
	}
	s := &system{t: t, root: root}
	s.uid, _ = strconv.Atoi(m[1])
	s.gid, _ = strconv.Atoi(m[2])
	data := filepath.Join(root, "var/lib/kairos") // systemd makes the state directory
	must(t, os.MkdirAll(data, 0o700))
	must(t, os.Chown(data, s.uid, s.gid))

	file, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/kairosd.service"))
	must(t, err)
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(string(file))
	if start == nil {
		t.Fatal("the unit has no ExecStart")
	}
	s.runsAPlan(strings.Fields(start[1]), "/var/lib/kairos/kairos.db", "/usr/bin/kairos")

	dpkg("--install", deb) // an upgrade keeps everything
	dpkg("--remove", "kairosd")
	if _, err := os.Stat(filepath.Join(data, "kairos.db")); err != nil {
		t.Errorf("after a removal: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/kairosd")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kairosd is still there after a removal (%v)", err)
	}
}

// runsAPlan starts the service, waits until it reports readiness as to systemd, and runs a plan.
func (s *system) runsAPlan(service []string, db, cli string) {
	s.t.Helper()
	notify := filepath.Join(s.root, "tmp/notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	must(s.t, err)
	defer socket.Close()
	must(s.t, os.Chmod(notify, 0o777))
	must(s.t, os.WriteFile(filepath.Join(s.root, "tmp/hello.yaml"), []byte(`
id: hello
nodes:
  greet: {type: set, input: "hello ${input.name}"}
`), 0o644))

	daemon := s.command(service...)
	daemon.Env = []string{"NOTIFY_SOCKET=/tmp/notify", "PATH=/usr/bin"}
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr = &log, &log
	must(s.t, daemon.Start())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait(); socket.Close() }()
	defer func() {
		daemon.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			s.t.Errorf("the service ended with %v:\n%s", err, log.String())
		}
	}()
	for message := make([]byte, 4096); ; {
		must(s.t, socket.SetReadDeadline(time.Now().Add(2*time.Minute)))
		n, err := socket.Read(message)
		if err != nil {
			s.t.Fatalf("the service did not become ready: %v\n%s", err, log.String())
		}
		if strings.Contains(string(message[:n]), "READY=1") {
			break
		}
	}
	client := s.command(cli, "run", "/tmp/hello.yaml", "--input", `{"name":"package"}`, "--db", db)
	out, err := client.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "hello package") {
		s.t.Errorf("kairos run: %v\n%s\n%s", err, out, log.String())
	}
}

// command is a program of the system, run as the service's user.
func (s *system) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Path, cmd.Err = args[0], nil // a path in the root
	cmd.Dir = "/tmp"
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root,
		Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.gid), NoSetGroups: false}}
	return cmd
}

// The RPM package holds the same files as the Debian one, with the same modes.
func TestThePackagesHoldTheSameFiles(t *testing.T) {
	dir := made(t)
	needs(t, "dpkg-deb", "rpm", "rpm2cpio", "cpio")
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	rpm := filepath.Join(dir, "kairosd-"+testVersion+"-1."+arch+".rpm")
	out, err := exec.Command("rpm", "-qp", "--queryformat", "%{NAME} %{VERSION}\n", rpm).Output()
	if err != nil || string(out) != "kairosd "+testVersion+"\n" {
		t.Errorf("rpm -qp: %q, %v", out, err)
	}
	a, b := t.TempDir(), t.TempDir()
	sh := func(command string, args ...string) {
		t.Helper()
		if out, err := exec.Command("sh", append([]string{"-ec", command, "sh"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	sh(`dpkg-deb --extract "$1" "$2"`, filepath.Join(dir, "kairosd_"+testVersion+"_"+runtime.GOARCH+".deb"), a)
	sh(`rpm2cpio "$1" | (cd "$2" && cpio -idm --quiet --no-absolute-filenames)`, rpm, b)
	deb, other := tree(t, a), tree(t, b)
	if !maps.Equal(deb, other) {
		t.Errorf("the packages differ:\n%v\n%v", deb, other)
	}
	if len(deb) < 10 {
		t.Errorf("only %d files: %v", len(deb), deb)
	}
}

// tree describes the files below a directory: mode and digest by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum, err := digest(path)
		out[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%s %s", info.Mode(), sum)
		return err
	}))
	return out
}

// The image has nothing but kairosd, kairos, and the data directory, and its command line runs a plan.
func TestTheImageRunsAPlan(t *testing.T) {
	dir := made(t)
	needs(t)
	at := t.TempDir()
	untar(t, filepath.Join(dir, "kairosd_"+testVersion+"_oci.tar"), at)
	path, err := layout.FromPath(at)
	must(t, err)
	index, err := path.ImageIndex()
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
	must(t, err)
	platforms, err := inner.IndexManifest()
	must(t, err)
	if len(platforms.Manifests) != 1 || platforms.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("platforms %v", platforms.Manifests)
	}
	image, err := inner.Image(platforms.Manifests[0].Digest)
	must(t, err)
	config, err := image.ConfigFile()
	must(t, err)
	content := mutate.Extract(image)
	defer content.Close()
	root := t.TempDir()
	must(t, os.Chmod(root, 0o755))
	unpack(t, tar.NewReader(content), root)
	user, group, _ := strings.Cut(config.Config.User, ":")
	s := &system{t: t, root: root}
	s.uid, _ = strconv.Atoi(user)
	s.gid, _ = strconv.Atoi(group)
	info, err := buildinfo.ReadFile(filepath.Join(root, "kairosd"))
	must(t, err)
	if !slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == "golang.org/x/crypto/x509roots/fallback" }) {
		t.Error("kairosd trusts no certificates where the system has none")
	}
	// An image's environment names the data directory; here the command line does.
	s.runsAPlan(append(slices.Concat(config.Config.Entrypoint, config.Config.Cmd), "--data", "/var/lib/kairos",
		"--listen", "unix:/var/lib/kairos/http.sock"), "/var/lib/kairos/kairos.db", "/kairos")
}

func untar(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	unpack(t, tar.NewReader(f), dir)
}

func unpack(t *testing.T, r *tar.Reader, dir string) {
	t.Helper()
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		must(t, err)
		to := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(to, 0o755))
		} else {
			must(t, os.MkdirAll(filepath.Dir(to), 0o755))
			content, err := io.ReadAll(r)
			must(t, err)
			must(t, os.WriteFile(to, content, h.FileInfo().Mode().Perm()))
		}
		must(t, os.Lchown(to, h.Uid, h.Gid))
		must(t, os.Chmod(to, h.FileInfo().Mode()))
	}
}

// Packages, images, and archives depend on nothing but the programs and the time of the commit.
func TestFilesAreReproducible(t *testing.T) {
	dir := made(t)
	work := t.TempDir()
	bin := filepath.Join(work, platform{"linux", runtime.GOARCH}.String())
	must(t, os.Mkdir(bin, 0o755))
	untar := exec.Command("tar", "-xzf", filepath.Join(dir, "kairosd_"+testVersion+"_linux_"+runtime.GOARCH+".tar.gz"),
		"-C", bin, "--strip-components=1")
	must(t, untar.Run())
	r, err := newRelease(t.Context(), "../..", filepath.Join(work, "again"), testVersion)
	must(t, err)
	r.license = "unknown"
	p := platform{"linux", runtime.GOARCH}
	must(t, r.archive(p, bin))
	must(t, r.packages(p, bin))
	must(t, r.image(map[platform]string{p: bin}))
	for _, name := range r.files {
		a, err := digest(filepath.Join(dir, name))
		must(t, err)
		b, err := digest(filepath.Join(r.out, name))
		must(t, err)
		if a != b {
			t.Errorf("%s differs when it is made again", name)
		}
	}
}

// The install script installs what the release serves, and nothing if the archive was changed.
func TestTheInstallScriptChecksTheArchive(t *testing.T) {
	dir := made(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is missing")
	}
	files := http.FileServer(http.Dir(dir))
	broken := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken {
			io.WriteString(w, "something else")
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	install := func(prefix string) (string, error) {
		cmd := exec.Command("sh", filepath.Join(dir, "install.sh"))
		cmd.Env = append(os.Environ(), "KAIROSD_URL="+server.URL, "PREFIX="+prefix)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	good := t.TempDir()
	if out, err := install(good); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(good, "bin/kairosd"), "--version").Output()
	if err != nil || !strings.Contains(string(out), testVersion) {
		t.Errorf("kairosd --version: %q, %v", out, err)
	}
	broken = true
	bad := t.TempDir()
	text, err := install(bad)
	if err == nil || !strings.Contains(text, "checksum") {
		t.Errorf("a changed archive: %v\n%s", err, text)
	}
	if left, _ := os.ReadDir(bad); len(left) > 0 {
		t.Errorf("a changed archive left %v", left)
	}
}

// The guide shows the unit of the packages, with the directory of programs installed by hand.
func TestTheGuideShowsTheUnit(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/deploy.md")
	must(t, err)
	want := strings.Replace(string(unit), "ExecStart=/usr/bin/", "ExecStart=/usr/local/bin/", 1)
	if !strings.Contains(string(page), "```ini\n# /etc/systemd/system/kairosd.service\n"+want+"```") {
		t.Error("docs/guides/deploy.md shows another unit than files/kairosd.service")
	}
}

// SHA256SUMS covers every file that was made before it.
func TestChecksumsCoverTheFiles(t *testing.T) {
	dir := made(t)
	cmd := exec.Command("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	must(t, err)
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if name := e.Name(); !slices.Contains([]string{"SHA256SUMS", "install.sh", "kairosd.rb"}, name) &&
			!strings.Contains(string(sums), "  "+name+"\n") {
			t.Errorf("SHA256SUMS lacks %s", name)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
