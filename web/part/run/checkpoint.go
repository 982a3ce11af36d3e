package run

import "github.com/kairosd/kairosd/internal/domain"

func IsCheckpoint(e *domain.Entry) bool {
	return e.Final && e.Status == domain.NodeCompleted && e.Node != ""
}
