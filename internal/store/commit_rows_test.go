package store

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Statements that are bound by hand have the parameters of their generated queries, each once, in
// the order of the fields.
func TestRowsBoundByHandFitTheirQueries(t *testing.T) {
	t.Parallel()
	columns := regexp.MustCompile(`\(([a-z_,\s]+)\)\s*VALUES`)
	for _, c := range []struct {
		text   string
		params any
	}{
		{dbsqlc.StepInsert, dbsqlc.StepInsertParams{}},
		{dbsqlc.StepInsertPlain, dbsqlc.StepInsertPlainParams{}},
		{dbsqlc.AuditInsert, dbsqlc.AuditInsertParams{}},
		{dbsqlc.AuditInsertCheckpoint, dbsqlc.AuditInsertCheckpointParams{}},
	} {
		m := columns.FindStringSubmatch(c.text)
		if m == nil {
			t.Fatalf("no columns in %s", c.text)
		}
		names := strings.Split(strings.Join(strings.Fields(m[1]), ""), ",")
		params := reflect.TypeOf(c.params)
		at := 0
		for _, name := range names {
			if at < params.NumField() && strings.EqualFold(strings.ReplaceAll(name, "_", ""), params.Field(at).Name) {
				at++
			}
		}
		if at != params.NumField() || strings.Count(c.text, "?") != params.NumField() {
			t.Errorf(
				"%s binds %d parameters; %s has %d fields, and %d fit in order",
				c.text,
				strings.Count(c.text, "?"),
				params,
				params.NumField(),
				at,
			)
		}
	}
}
