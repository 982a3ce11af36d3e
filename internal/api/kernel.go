package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// kernel is what the handlers of all subjects share: problems, cursors, and answers.
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
		k.log.Debug("write an answer", "err", err)
	}
}

// lifetime ends event streams when the API is closed.
type lifetime struct {
	stop context.Context
	end  context.CancelFunc
	open sync.WaitGroup
}
