package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
)

// valuesPart builds the view of a run's input and output.
type valuesPart struct{ *record.Record }

func (b valuesPart) inputAndOutput() (v Values, err error) {
	run := b.Detail.Run
	if !run.PurgedAt.IsZero() { // retention removed the values
		v.Blocks, err = b.RemovedBlocks(false)
		v.Find = b.FindForm(v.Blocks)
		return v, err
	}
	read, raw := b.Reading(), "/runs/"+run.ID+"/raw/0/"
	v.Blocks = []kit.Block{
		read.Block("run-in", b.T("Input"), run.Input, raw+"input"),
		read.Block("run-out", b.T("Output"), run.Output, raw+"output"),
	}
	for i, part := range []domain.RunPart{domain.PartInput, domain.PartOutput} {
		if text := b.DamagedValue(run, part); text != "" {
			v.Blocks[i].Text, v.Blocks[i].Raw = text, ""
		}
	}
	v.Find = b.FindForm(v.Blocks)
	return v, nil
}
