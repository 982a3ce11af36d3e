package view

import (
	"strconv"
)

func num(i int) string { return strconv.Itoa(i) }

// truth is a yes or no as attributes want it.
func truth(b bool) string { return strconv.FormatBool(b) }
