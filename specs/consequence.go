package specs

// Consequence says what a breach of a requirement leads to. A refused or unsafe
// breach is a failure, any other one a warning.
type Consequence string

// The consequences, the worst first. None stands in a row of where: only: the
// rule does not hold there.
const (
	// Refused: the provider refuses the request.
	Refused Consequence = "refused"
	// Unsafe: the provider accepts it, and it goes against the word of the user or
	// of the model: a malformed call is executed, a failed reply is taken for a
	// success, a forbidden model is asked, history is falsified, state is sent to a
	// third party.
	Unsafe Consequence = "unsafe"
	// Degraded: the provider accepts it, and the model sees something else.
	Degraded Consequence = "degraded"
	// Wasteful: the provider accepts it, and cache or tokens are lost.
	Wasteful Consequence = "wasteful"
	None     Consequence = "none"
	// Crash, Wrong and Cosmetic, beside Degraded, are consequences of what a server does, for its
	// clients. Crash: a client ends with an error, or waits for ever.
	Crash Consequence = "crash"
	// Wrong: a client goes on with something else than the model said.
	Wrong Consequence = "wrong"
	// Cosmetic: only people and strict validators notice.
	Cosmetic Consequence = "cosmetic"
)

// Consequences lists those of what an agent does, the worst first, without None.
var Consequences = []Consequence{Refused, Unsafe, Degraded, Wasteful}

// ServerConsequences lists those of what a server does, the worst first.
var ServerConsequences = []Consequence{Crash, Wrong, Degraded, Cosmetic}

// IsFailure reports whether a breach is a failure rather than a warning.
func (c Consequence) IsFailure() bool { return c == Refused || c == Unsafe || c == Crash || c == Wrong }

// Meaning is one sentence for users, "" for a value that is not a consequence.
func (c Consequence) Meaning() string {
	switch c {
	case Refused:
		return "The provider refuses the request."
	case Unsafe:
		return "The provider accepts the request, and it goes against the word of the user or of the model."
	case Degraded:
		return "The provider accepts the request, and the model sees something else than it should."
	case Wasteful:
		return "The provider accepts the request, and cache or tokens are lost."
	case Crash:
		return "A client of the server ends with an error, or waits for ever."
	case Wrong:
		return "A client of the server goes on with something else than the model said."
	case Cosmetic:
		return "Only people and strict validators notice what the server did."
	case None:
		return "The rule does not hold there."
	}
	return ""
}
