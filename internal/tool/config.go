package tool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/circuit"
)

// Config is the `tools` section of the configuration. With its zero value, every tool is offered
// without access to the machine: http reaches only public addresses, the file and database tools
// have no roots and databases, and exec is disabled.
type Config struct {
	HTTP  HTTPConfig  `yaml:"http" json:"http"`
	Files FilesConfig `yaml:"files" json:"files"`
	SQL   SQLConfig   `yaml:"sql" json:"sql"`
	Exec  ExecConfig  `yaml:"exec" json:"exec"`
	// Permissions by tool name. A tool that is not named is allowed.
	Permissions Permissions `yaml:"permissions" json:"permissions"`
	// Plans holds permissions for single plans, by the plan's key.
	Plans map[string]Permissions `yaml:"plans" json:"plans"`
	// Breakers configure when the circuits of tools open, with the names of Permissions. The http tool has
	// one circuit for each host. Tools that reach no other machine have none.
	Breakers map[string]circuit.Settings `yaml:"breakers" json:"breakers"`
}

// HTTPConfig configures the tool http.
type HTTPConfig struct {
	// AllowPrivate lists CIDR prefixes, or single addresses, that may be reached although they are
	// not public. The default is none.
	AllowPrivate []string `yaml:"allow_private" json:"allow_private"`
	// AllowPorts lists ports below 1024 that may be reached in addition to 80 and 443.
	AllowPorts []int `yaml:"allow_ports" json:"allow_ports"`
	// Timeout limits one call, including redirects and body. The default is 30s.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
	// MaxBytes limits a response body after decompression. The default is 4 MiB.
	MaxBytes int64 `yaml:"max_bytes" json:"max_bytes"`
	// MaxRedirects limits the redirects that a call may request. Default 5. Calls follow none
	// unless they request it.
	MaxRedirects int `yaml:"max_redirects" json:"max_redirects"`
	// CAFiles lists PEM files of additional certificate authorities.
	CAFiles []string `yaml:"ca_files" json:"ca_files"`
	// Examples makes http://kairos.example reachable, which kairosd serves itself for
	// the example plans. Default: false.
	Examples bool `yaml:"examples" json:"examples"`
}

// FilesConfig configures read_file, write_file, and the `file` argument of csv.
type FilesConfig struct {
	// Roots are the directories that may be read and written. The default is none. A relative path
	// in a call is searched in each root in order. New files are created in the first root.
	Roots []string `yaml:"roots" json:"roots"`
	// MaxBytes limits one file. The default is 4 MiB.
	MaxBytes int64 `yaml:"max_bytes" json:"max_bytes"`
}

// SQLConfig configures sql_query.
type SQLConfig struct {
	// Databases maps the names that calls use to SQLite files. The default is none.
	Databases map[string]string `yaml:"databases" json:"databases"`
	// Timeout limits one query. The default is 10s.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
	// MaxRows limits one result. The default is 1000.
	MaxRows int `yaml:"max_rows" json:"max_rows"`
}

// ExecConfig configures exec.
type ExecConfig struct {
	// Enabled offers the tool. The default is false.
	Enabled bool `yaml:"enabled" json:"enabled"`
	// Allow lists absolute paths of executables that may be run.
	Allow []string `yaml:"allow" json:"allow"`
	// Patterns contains, by executable, an RE2 expression that each complete argument must match.
	// The default is any argument.
	Patterns map[string]string `yaml:"patterns" json:"patterns"`
	// EndOfOptions lists the executables that support `--` as the end of their options. It is
	// inserted before the operands of a call.
	EndOfOptions []string `yaml:"end_of_options" json:"end_of_options"`
	// Env is the complete environment of a command, except KAIROS_IDEMPOTENCY_KEY and a PATH of
	// system directories.
	Env map[string]string `yaml:"env" json:"env"`
	// User is the user that runs commands. It must not be able to read kairosd's files. The default
	// is kairosd's own user. It requires root, or the capabilities to change the user.
	User string `yaml:"user" json:"user"`
	// Dir is the working directory. The default is a new empty directory per call.
	Dir string `yaml:"dir" json:"dir"`
	// Timeout limits one command. The default is 60s.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
	// MaxBytes limits each of its output streams. The default is 1 MiB.
	MaxBytes int64 `yaml:"max_bytes" json:"max_bytes"`
	// MaxMemory limits the total memory of the command and its children, in bytes. The default is
	// 512 MiB.
	MaxMemory int64 `yaml:"max_memory" json:"max_memory"`
	// MaxProcesses limits the number of processes. The default is 64.
	MaxProcesses int `yaml:"max_processes" json:"max_processes"`
	// MaxDisk limits the size of the directory of a call, in bytes. It does not apply to Dir. The
	// default is 256 MiB.
	MaxDisk int64 `yaml:"max_disk" json:"max_disk"`
}

const (
	maxBody     = 4 << 20
	maxOutput   = 1 << 20
	maxFile     = 4 << 20
	maxSQLBytes = 4 << 20
)

// withDefaults sets missing values and returns an error for invalid ones.
func (c Config) withDefaults() (Config, error) {
	c.HTTP.Timeout = cmp.Or(c.HTTP.Timeout, 30*time.Second)
	c.HTTP.MaxBytes = cmp.Or(c.HTTP.MaxBytes, maxBody)
	c.HTTP.MaxRedirects = cmp.Or(c.HTTP.MaxRedirects, 5)
	c.Files.MaxBytes = cmp.Or(c.Files.MaxBytes, maxFile)
	c.SQL.Timeout = cmp.Or(c.SQL.Timeout, 10*time.Second)
	c.SQL.MaxRows = cmp.Or(c.SQL.MaxRows, 1000)
	c.Exec.Timeout = cmp.Or(c.Exec.Timeout, time.Minute)
	c.Exec.MaxBytes = cmp.Or(c.Exec.MaxBytes, maxOutput)
	c.Exec.MaxMemory = cmp.Or(c.Exec.MaxMemory, 512<<20)
	c.Exec.MaxProcesses = cmp.Or(c.Exec.MaxProcesses, 64)
	c.Exec.MaxDisk = cmp.Or(c.Exec.MaxDisk, 256<<20)
	for name, v := range map[string]int64{
		"http.timeout": int64(c.HTTP.Timeout), "http.max_bytes": c.HTTP.MaxBytes, "http.max_redirects": int64(c.HTTP.MaxRedirects),
		"files.max_bytes": c.Files.MaxBytes, "sql.timeout": int64(c.SQL.Timeout), "sql.max_rows": int64(c.SQL.MaxRows),
		"exec.timeout": int64(c.Exec.Timeout), "exec.max_bytes": c.Exec.MaxBytes,
		"exec.max_memory": c.Exec.MaxMemory, "exec.max_processes": int64(c.Exec.MaxProcesses), "exec.max_disk": c.Exec.MaxDisk,
	} {
		if v < 0 {
			return c, fmt.Errorf("tools.%s is negative", name)
		}
	}
	if err := c.Permissions.Check("tools.permissions"); err != nil {
		return c, err
	}
	for _, plan := range slices.Sorted(maps.Keys(c.Plans)) {
		if err := c.Plans[plan].Check("tools.plans." + plan); err != nil {
			return c, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Breakers)) {
		if err := c.Breakers[name].Check("tools.breakers." + name); err != nil {
			return c, err
		}
	}
	return c, nil
}
