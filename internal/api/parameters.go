package api

import "github.com/danielgtaylor/huma/v2"

// parameterTexts describe the parameters without a tag, by name.
var parameterTexts = map[string]string{
	"id": "The id.", "name": "The name.", "seq": "The number of the record.", "channel": "The name of the channel.",
	"n": "The number of the version.", "b": "The number of the other version.", "version": "Only runs of this version.",
	"actor": "Who acted.", "action": "The action, such as run.created.", "run": "The id of a run.",
	"object": "What was acted on, such as plan:invoice.", "result": "Whether the action was carried out.",
	"If-None-Match": "An ETag. The response is 304 if the object still has it.",
	"Last-Event-ID": "The id of the last event that you received. The response begins after it.",
}

// describeParameters fills in what tags leave out.
func describeParameters(op *huma.Operation) {
	for _, p := range op.Parameters {
		if p.Description == "" {
			p.Description = parameterTexts[p.Name]
		}
	}
}
