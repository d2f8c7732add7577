package check

// linkRule is one rule by which a request is matched with earlier replies and placed
// in a conversation. All of them hold; a test leaves one out and sees that the
// transcripts miss it.
type linkRule byte

const (
	_ linkRule = iota // no rule

	// A run of the request is matched with the replies that emitted it.
	idsName           // an id names the reply that issued it
	tokensName        // so does a token
	sharedSaysLittle  // an id or token of several replies says little
	contentInContext  // content after all that the client said before
	textsAreJoined    // texts are compared together as well, because clients join and split them
	placeDecides      // among equals, the reply to the same history
	lineDecides       // among equals, the reply of the conversation that known runs belong to
	namesDecide       // and the one with the same ids, though a recorder may have written them
	latestDecides     // among equals, the latest reply
	sessionsDiffer    // another session's ids and tokens are not this one's
	copiesAreForeign  // a token copied into another reply does not bring it along
	answerIsContinued // the model's words that a request ended with are not the next reply's
	gapsAreFilled     // an unknown item belongs to what stands beside it
	contentBeside     // content beside a neighbour that is known
	contentAfterWord  // content after the same last word, between the neighbours
	wholeIsSaid       // all that a reply says and nothing else
	positionIsLast    // the only reply that can stand there
	marksContradict   // ids or tokens that differ forbid what content and place suggest
	repliesStandOnce  // a reply has one run
	boundsHold        // a reply came between those before and after it
	openingIsRead     // the client's own beginning of an answer is not a reply
	hiddenIsAside     // hidden state does not change what was said before

	// Items of a match are paired.
	pairByID
	pairByContent
	pairByToken
	pairByKind
	callsDiffer    // calls with ids of their own, or that share a token alone, are two
	secondIsRepeat // an item whose pair is taken is sent twice
	originIsNamed  // a token in another's place is named with the reply that issued it

	// The exchange that a request continues.
	responseIsNamed  // by previous_response_id
	storeIsNamed     // by the stored conversation
	requestIsGrown   // whose request it repeats whole
	grownHasItsMarks // with the same ids and tokens

	// The part that an exchange has in its conversation.
	sideIsBeside
	taskStartsAgent
	summaryStartsOver
	sameIsRetry
	siblingIsFork
	equalIsBeside

	linkRuleEnd // stands after the last
)

// linking says which rule is left out; the zero value leaves out none.
type linking struct{ without linkRule }

func (l linking) holds(r linkRule) bool { return l.without != r }
