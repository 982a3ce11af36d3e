package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// stripCells is the maximum number of cells of a path summary. The store keeps as many letters.
const stripCells = 64

// strip returns the path summary of a run: one cell per completed step, tall cells for failures,
// the current step, and dashed cells for steps that have not started. nodes is the number of steps
// of the plan, or 0 if unknown.
func strip(run domain.Run, at kit.Status, nodes int) []Cell {
	var cells []Cell
	add := func(class, y, h string) {
		if len(cells) < stripCells {
			cells = append(cells, Cell{Class: class, Y: y, H: h})
		}
	}
	for _, c := range run.Path {
		switch c {
		case 'f':
			add("g-fail", "0", "100%")
		case 'd':
			add("g-doubt", "0", "100%")
		case 's', 'x':
			add("g-idle", "45%", "10%")
		default:
			add("g-ok", "30%", "40%")
		}
	}
	left := nodes - len(run.Path)
	if run.Status == domain.RunCompleted || len(run.Path) >= stripCells {
		left = 0
	}
	if run.Status == domain.RunRunning || run.Status == domain.RunWaiting {
		switch at.Key {
		case "now", "need":
			add("g-"+at.Key, "30%", "40%")
		case "doubt":
			add("g-doubt", "0", "100%")
		default:
			add("g-wait", "30%", "40%")
		}
		left--
	}
	for range left {
		add("g-wait", "30%", "40%")
	}
	w := 8.0
	if n := len(cells); n > 0 {
		w = min(100.0/float64(n), w)
	}
	for i := range cells {
		cells[i].X, cells[i].W = kit.Percent(float64(i)*w), kit.Percent(w*0.8)
	}
	return cells
}
