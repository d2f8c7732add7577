package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/wire"
)

// keepsHeaders reports whether the recording seems to have kept all headers of the
// request: many keep a few, or none, and the key is what they take out first.
func keepsHeaders(x *exchange) bool {
	h := x.Request.Header
	return h.Get("Content-Type") != "" && h.Get("User-Agent") != "" && h.Get("X-Api-Key") != ""
}

// betasOf lists the betas that a request asks for; nil when the recording may have
// dropped the header.
func betasOf(x *exchange) []string {
	if x.Provider != evidence.Anthropic {
		return nil
	}
	values := x.Request.Header.Values("Anthropic-Beta")
	if len(values) == 0 && !keepsHeaders(x) && x.Request.Header.Get("Anthropic-Version") == "" {
		return nil
	}
	betas := []string{}
	for _, b := range strings.Split(strings.Join(values, ","), ",") {
		if b = strings.TrimSpace(b); b != "" {
			betas = append(betas, b)
		}
	}
	return betas
}

func headerPlace(name string) wire.Place { return wire.Place{Event: -1, Off: -1, Path: name} }

// requestHeaders: the content type is JSON, and Anthropic is told the version.
func requestHeaders(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if t := x.Request.Header.Get("Content-Type"); t != "" {
			r.addObserved(1)
			if !strings.Contains(strings.ToLower(t), "json") {
				r.addFinding(x, headerPlace("content-type"), "", "the content type is %q, not application/json", cutText(t, 60))
			}
		}
		if x.Provider != evidence.Anthropic || !x.isPublicAPI() || !s.recordsVersion(x) {
			return
		}
		r.addObserved(1)
		if x.Request.Header.Get("Anthropic-Version") == "" {
			r.addFinding(x, headerPlace("anthropic-version"), "A-1", "the header anthropic-version is missing")
		}
	})
}

// recordsVersion reports whether the recording would show anthropic-version if it had
// been sent: it keeps all headers, or shows it in another exchange of the same client.
func (s *Trace) recordsVersion(x *exchange) bool {
	client := x.Request.Header.Get("User-Agent")
	return keepsHeaders(x) || client != "" && slices.ContainsFunc(s.x, func(o *exchange) bool {
		return o.Provider == evidence.Anthropic && o.Request.Header.Get("Anthropic-Version") != "" &&
			o.Request.Header.Get("User-Agent") == client
	})
}

var betaForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*-(\d{8}|\d{4}-\d{2}-\d{2})$`)

var betaDate = regexp.MustCompile(`[\d-]+$`)

const firstBeta = "2023"

// betasKnown: a beta is named with its date. Names that nobody has listed are
// given the benefit of the doubt.
func betasKnown(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		for _, b := range betasOf(x) {
			r.addObserved(1)
			if date := betaDate.FindString(b); betaForm.MatchString(b) && strings.Trim(date, "-") < firstBeta {
				r.addFinding(x, headerPlace("anthropic-beta"), "A-4", "there was no beta %q: the first are of 2023", cutText(b, 60))
			}
			if !betaForm.MatchString(b) {
				r.addFinding(x, headerPlace("anthropic-beta"), "A-4", "%q is not the name of a beta with its date", cutText(b, 60))
			}
		}
	})
}

// betaMembers: what belongs to a beta comes with its header.
func betaMembers(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		if x.isPublicAPI() && betasOf(x) != nil {
			r.addFaults(x, ofKind(members.NoBeta))
		}
	})
}

// stateExclusive: a response goes on with another or stands in a conversation (O-26).
func stateExclusive(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.OpenAI, func(x *exchange) {
		previous, at := x.member("previous_response_id")
		conversation, _ := x.member("conversation")
		input, _ := x.member("input")
		prompt, _ := x.member("prompt")
		r.addObserved(1)
		switch {
		case !previous.Null() && !conversation.Null():
			r.addFinding(x, at, "O-26", "previous_response_id and conversation are both set")
		case input.Null() && prompt.Null() && previous.Null() && conversation.Null():
			r.addFinding(x, wire.Place{Event: -1, Off: 0, Path: "input"}, "O-3", "the request has no input and names none that is stored")
		}
	})
}

// previousStored: only what was stored can be gone on with by HTTP (O-25). Of WebSockets
// WSK-001 speaks.
func previousStored(s *Trace, r *report) {
	byID := map[string]*exchange{}
	s.eachRequest(func(x *exchange) {
		previous, at := x.member("previous_response_id")
		if from := byID[previous.Text()]; from != nil && x.Provider == evidence.OpenAI && x.WebSocket == 0 && !strings.Contains(previous.Text(), "REDACTED") {
			r.addObserved(1)
			if from.req.Doc.Get("store").False() {
				r.addFinding(x, at, "O-25", "the response of exchange %d was made with store false, so that nothing can go on with it", from.Index)
			}
		}
		if x.Provider == evidence.OpenAI && x.reply.ID != "" {
			byID[x.reply.ID] = x
		}
	})
}
