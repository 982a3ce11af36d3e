package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README's tour works when it is pasted.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds both programs")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tour, ok := strings.Cut(string(readme), "## Two minutes")
	if !ok {
		t.Fatal("the README has no tour")
	}
	tour, _, _ = strings.Cut(tour, "\n## ")
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "bin")+"/", root+"/cmd/kairos", root+"/cmd/kairosd").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(tour, "```sh\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("the tour has no commands")
	}
	var script strings.Builder
	for _, b := range blocks {
		commands, _, _ := strings.Cut(b, "```")
		script.WriteString(commands)
	}
	cmd := exec.CommandContext(t.Context(), bash, "-euo", "pipefail", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "KAIROS_SERVER=", "KAIROS_TOKEN=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"said":"hello good morning"`, "exit 3", "waiting", "step-4: writer"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the tour does not show %q:\n%s", want, out)
		}
	}
}
