package rule

import (
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/members"
)

// commonRules judge what is the same in all wires. They are the referee's alone: what a provider
// refuses of it is a rule of the wire.
var commonRules = []Rule[*Seen]{
	{Aspect: "PAR-006/known", Hosts: PublicAPI, Run: membersKnown},
	{Aspect: "PAR-006/required", Hosts: AnyHost, Run: faulty(func(f members.Fault) bool {
		return f.Kind == members.Missing || f.Kind == members.Empty || f.Kind == members.Null && f.Member.Required
	})},
	{Aspect: "PAR-007/type", Hosts: AnyHost, Run: faulty(func(f members.Fault) bool {
		return f.Kind == members.WrongType || f.Kind == members.WrongValue ||
			f.Kind == members.Null && !f.Member.Required
	})},
	{Aspect: "PAR-007/range", Run: membersInRange},
	{Aspect: "PAR-011/beta-members", Hosts: PublicAPI, Run: membersHaveBeta},
	{Aspect: "PAR-011/headers", Hosts: AnyHost, Run: contentIsJSON},
	{Aspect: "MED-002/pdf", Run: pdfIsPDF},
	{Aspect: "MED-003/text", Hosts: AnyHost, Run: imagesAreNoText},
	{Aspect: "MED-005/address", Run: addressesLead},
	{Aspect: "ORD-012/result-order", Hosts: AnyHost, Run: resultsInOrder},
	{Aspect: "ORD-012/one-message", Hosts: AnyHost, Run: resultsTogether},
	{Aspect: "ORD-015/unicode", Hosts: AnyHost, Run: textsAreUnicode},
	{Aspect: "HYG-002/member-once", Hosts: AnyHost, Run: membersOnce},
	{Aspect: "HYG-004/key-in-url", Hosts: AnyHost, Run: keyNotInURL},
	{Aspect: "HYG-004/key-in-body", Hosts: AnyHost, Run: keyNotInBody},
	{Aspect: "HYG-005/own-headers", Hosts: PublicAPI, Run: credentialsOfProvider},
	{Aspect: "HYG-006/one-key", Hosts: PublicAPI, Run: oneCredential},
}

// documentRules judge a body that cannot be read, too.
var documentRules = []Rule[*Seen]{{Aspect: "HYG-003/one-document", Hosts: AnyHost, Run: bodyIsDocument}}

// JudgeAll is Judge together with the rules that all wires have.
func (b *Book) JudgeAll(seen *Seen, holds func(Hosts) bool) map[string][]*Pass {
	passes := Judge(documentRules, seen, holds)
	if seen.Root == nil {
		return passes
	}
	maps.Copy(passes, b.Judge(*seen, holds))
	for aspect, more := range Judge(commonRules, seen, holds) {
		passes[aspect] = append(passes[aspect], more...)
	}
	return passes
}

// AllAspects are Aspects together with those that all wires have.
func (b *Book) AllAspects() []string {
	return slices.Concat(b.Aspects, Aspects(documentRules), Aspects(commonRules))
}

// Inspect compares the members of a request with those that the wire describes. It leaves out what only
// a simulator looks at, and what the referee knows from elsewhere.
func (b *Book) Inspect(seen *Seen) *members.Found {
	if b.Betas != nil {
		seen.Betas = b.Betas(seen.Header)
	}
	found := b.Members().Walk(seen.Root, "request", seen.Betas)
	takesUnknown := b.TakesUnknown != nil && b.TakesUnknown(seen)
	found.Faults = slices.DeleteFunc(found.Faults, func(f members.Fault) bool {
		isTop := f.At.String() == f.Name
		return f.Side == members.SimulatorOnly || takesUnknown && f.Kind == members.Unknown ||
			isTop && f.Kind == members.Missing && f.Name == "model" && seen.IsModelInPath ||
			isTop && f.Kind == members.Unknown && seen.IsMessage && slices.Contains(messageMembers, f.Name)
	})
	return found
}

// messageMembers are the members of a WebSocket message beside those of the request.
var messageMembers = []string{"type", "generate", "stream_id"}

// MemberNames are the names of all members that requests may have.
func MemberNames() map[string]bool {
	names := map[string]bool{}
	for _, b := range Books() {
		maps.Copy(names, b.Members().Names())
	}
	return names
}

// faulty reports the faults of the members that isWanted picks, and counts the objects that were compared.
func faulty(isWanted func(members.Fault) bool) func(*Seen, *Pass) {
	return func(s *Seen, p *Pass) {
		p.Observed += s.Found.Objects
		for _, f := range s.Found.Faults {
			if !isWanted(f) {
				continue
			}
			path, text := f.At.String(), f.Describe()
			b := p.Report(path, "%s %s", path, text)
			b.Rule, b.Cause = f.Rule, f.Rule+text
			if f.IsUnverified {
				b.Consequence = "degraded"
			}
		}
	}
}

// membersKnown: the public APIs refuse what they do not know; clouds and gateways take members of their
// own. What the provider issues it takes back, also where nobody has described it yet.
func membersKnown(s *Seen, p *Pass) {
	if s.IsOwnModel {
		faulty(func(f members.Fault) bool {
			return (f.Kind == members.Unknown || f.Kind == members.UnknownType) &&
				!(f.IsOfBlock() && s.WasIssued(f.Name))
		})(s, p)
	}
}

func membersInRange(s *Seen, p *Pass) {
	if s.IsOwnModel {
		faulty(func(f members.Fault) bool { return f.Kind == members.OutOfRange || f.Kind == members.WrongLength })(s,
			p)
	}
}

func membersHaveBeta(s *Seen, p *Pass) {
	if s.Betas != nil {
		faulty(func(f members.Fault) bool { return f.Kind == members.NoBeta })(s, p)
	}
}

func contentIsJSON(s *Seen, p *Pass) {
	t := s.Header.Get("Content-Type")
	if t == "" {
		return
	}
	if p.Observe(); !strings.Contains(strings.ToLower(t), "json") {
		p.Report("content-type", "the content type is %.60q, not application/json", t)
	}
}
