package query

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Known lists at most limit values that runs have under a key of the filter, sorted: error codes,
// people, agents, tools, or providers. For any other key, the error is CodeInvalid.
func (s *SummaryReader) Known(ctx context.Context, key string, limit int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listDeadline)
	defer cancel()
	var out []string
	var err error
	switch key {
	case "error":
		out, err = s.db.Q.RunErrorsKnown(ctx, int64(limit))
	case "by":
		out, err = s.db.Q.RunActorsKnown(ctx, int64(limit))
	case domain.UseAgent, domain.UseTool, domain.UseProvider:
		out, err = s.db.Q.RunUsesKnown(ctx, int64(limit), key)
	default:
		return nil, domain.Errorf(domain.CodeInvalid, "cannot list values of %q", key)
	}
	return out, core.Translate(err, "list values")
}
