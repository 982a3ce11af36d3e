package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// NoServer implements [Server] and [Settings] without a daemon: every method returns an error.
type NoServer struct{ Refusal error }

func (n NoServer) Server(context.Context) (domain.Server, error) {
	return domain.Server{}, n.Refusal
}

func (n NoServer) HealthMetrics(context.Context) (domain.HealthMetrics, error) {
	return domain.HealthMetrics{}, n.Refusal
}

func (n NoServer) Log(context.Context, string, string) ([]domain.DaemonLog, error) {
	return nil, n.Refusal
}

func (n NoServer) Maintain(context.Context, Recorder, domain.Actor, bool, string) (*domain.Maintenance, error) {
	return nil, n.Refusal
}

func (n NoServer) BackUp(context.Context, domain.Actor) (domain.Backup, error) {
	return domain.Backup{}, n.Refusal
}

func (n NoServer) Retain(context.Context, domain.Actor, string, bool) (domain.RetentionResult, error) {
	return domain.RetentionResult{}, n.Refusal
}

func (n NoServer) Settings(context.Context) (domain.Settings, error) {
	return domain.Settings{}, n.Refusal
}

func (n NoServer) TestChannel(context.Context, domain.Actor, string) (domain.Delivery, error) {
	return domain.Delivery{}, n.Refusal
}

func (n NoServer) RotateSecret(context.Context, domain.Actor, string, string) error { return n.Refusal }
