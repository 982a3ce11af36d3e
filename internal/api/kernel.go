package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// kernel holds what the handlers of all subjects share: problems, cursors, and responses.
type kernel struct {
	log          *slog.Logger
	showInternal bool
	cursorKey    []byte
}

func (k *kernel) writeJSON(ctx huma.Context, status int, v any) {
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(status)
	enc := json.NewEncoder(ctx.BodyWriter())
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		k.log.Debug("write a response", "err", err)
	}
}

// lifetime ends event streams when the API closes.
type lifetime struct {
	stop context.Context
	end  context.CancelFunc
	open sync.WaitGroup
}
