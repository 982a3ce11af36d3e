package tool

import (
	"bytes"
	"os"
	"strconv"
)

var pageSize = int64(os.Getpagesize())

// groupUsage sums the usage of the processes in a group. It ignores processes that have ended.
func groupUsage(group int) usage {
	var u usage
	proc, err := os.Open("/proc")
	if err != nil {
		return u
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return u
	}
	want := []byte(strconv.Itoa(group))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // the process has ended
		}
		// The command's name, in parentheses, may contain any characters.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 || !bytes.Equal(fields[2], want) || fields[0][0] == 'Z' || fields[0][0] == 'X' {
			continue
		}
		u.processes++
		if pages, err := strconv.ParseInt(string(fields[21]), 10, 64); err == nil {
			u.memory += pages * pageSize
		}
	}
	return u
}
