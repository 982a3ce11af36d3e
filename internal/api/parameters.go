package api

import "github.com/danielgtaylor/huma/v2"

// parameterTexts describe the parameters without a tag, by name.
var parameterTexts = map[string]string{
	"id": "The id.", "name": "The name.", "seq": "The number of the record.", "channel": "The name of the channel.",
	"n": "The number of the version.", "b": "The number of the version to compare with.", "version": "Only runs of this version.",
	"actor": "Who acted.", "action": "The action, such as run.created.", "run": "The id of a run.",
	"object": "What was acted on, such as plan:invoice.", "result": "The result of the action.",
	"If-None-Match": "An ETag. If the object still has it, the response is 304.",
	"Last-Event-ID": "The id of the last event that you received. The response begins after that event.",
}

// describeParameters describes the parameters without a tag.
func describeParameters(op *huma.Operation) {
	for _, p := range op.Parameters {
		if p.Description == "" {
			p.Description = parameterTexts[p.Name]
		}
	}
}
