package kairos

// ReplanRequest asks for a new tail of a plan: a node of a run has failed under
// `on_error: replan` (SPEC 7.5).
type ReplanRequest struct {
	Run Run
	// Version is what the run follows, with its source.
	Version Version
	// Node has failed, after all its attempts, with Failure.
	Node    string
	Failure Failure
	// Settled are the nodes that are done, in the order in which they settled;
	// the new version keeps them as they are.
	Settled []ReplanStep
	// Open are other nodes that wait for something; the new version keeps them
	// too.
	Open []string
}

// ReplanStep is a node that is done.
type ReplanStep struct {
	Node, Task, Agent string
	Status            NodeStatus
	Output            RawJSON
}

// Replanned is the new version of a plan.
type Replanned struct {
	Source []byte // a JSON document with the id of the old one
	Reason string
	// Unsafe are the new nodes that a person has to accept before the run
	// follows the version (ruling 41).
	Unsafe []string
	Usage  Usage
}
