package check

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/wire"
)

// DecodeCounted is Decode, and calls count for every body it reads.
func DecodeCounted(ev *evidence.Evidence, count func()) *Trace {
	return bodyReader{
		request: func(provider, method, url string, body []byte) *wire.Request {
			count()
			return wire.ReadRequest(provider, method, url, body)
		},
		reply: func(provider string, status int, body []byte) *wire.Reply {
			count()
			return wire.ReadReply(provider, status, body)
		},
	}.decodeEvidence(ev)
}

// DecodeBroken is Decode with decoders that panic.
func DecodeBroken(ev *evidence.Evidence) *Trace {
	return bodyReader{
		request: func(string, string, string, []byte) *wire.Request { panic("no such body") },
	}.decodeEvidence(ev)
}

// LinkRules gives for each rule of linking the transcript that shows it.
var LinkRules = [linkRuleEnd]string{
	idsName:           "id-alone",
	tokensName:        "token-alone",
	sharedSaysLittle:  "counted-ids",
	contentInContext:  "altered-id",
	textsAreJoined:    "joined-texts",
	placeDecides:      "same-after-fork",
	lineDecides:       "twins-without-ids",
	namesDecide:       "twins-masked",
	latestDecides:     "same-answer",
	sessionsDiffer:    "unrecorded-twin",
	copiesAreForeign:  "copied-token",
	answerIsContinued: "begun-answer",
	gapsAreFilled:     "added-text",
	contentBeside:     "resume-faults",
	contentAfterWord:  "same-last-word",
	wholeIsSaid:       "rewritten-prompt",
	positionIsLast:    "invented-words",
	marksContradict:   "unrecorded-twin",
	repliesStandOnce:  "repeated-message",
	boundsHold:        "short-answers",
	openingIsRead:     "begun-answer",
	hiddenIsAside:     "retry-without-thinking",
	pairByID:          "references",
	pairByContent:     "turned-texts",
	pairByToken:       "turned-thoughts",
	pairByKind:        "altered-id",
	callsDiffer:       "equal-calls",
	secondIsRepeat:    "sent-twice",
	originIsNamed:     "foreign-token",
	responseIsNamed:   "references",
	storeIsNamed:      "references",
	requestIsGrown:    "dropped-reply",
	grownHasItsMarks:  "twins",
	sideIsBeside:      "side-requests",
	taskStartsAgent:   "sub-agent",
	summaryStartsOver: "compaction",
	sameIsRetry:       "fork-retry",
	siblingIsFork:     "fork-retry",
	equalIsBeside:     "twins",
}

// DecodeWithout is Decode with one rule of linking left out.
func DecodeWithout(ev *evidence.Evidence, rule int) *Trace {
	return bodyReader{wire.ReadRequest, wire.ReadReply, linking{linkRule(rule)}}.decodeEvidence(ev)
}

// NewInReplies names what the replies of ev hold that the check of new types does not know.
func NewInReplies(ev *evidence.Evidence) (found []string) {
	for _, x := range Decode(ev).x {
		if what := newIn(x); what != "" {
			found = append(found, what)
		}
	}
	return found
}
