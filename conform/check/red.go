package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// redactorRules judge whether a redactor or a sanitiser of the agent wrote into what it
// should have left alone (R54). They find only edits of the kinds that such programs
// make: that a value differs at all is for the requirements about it.
var redactorRules = map[string]rule{
	"RED-001/token":       tokenNotCleaned,
	"RED-001/signed-text": signedTextNotCleaned,
	"RED-002/arguments":   argumentsNotCleaned,
	"RED-002/text":        wordsNotCleaned,
	"RED-003/result":      resultNotCleaned,
}

// isMaskedByRecorder reports whether a recorder took out a part of either value, so that
// nothing is known of it.
func isMaskedByRecorder(was, is string) bool {
	return strings.Contains(was, "REDACTED") || pseudonymMark(is)
}

// pseudonymMark reports whether s holds what our recorder and those of others leave of a
// secret: the word alone, or with letters and digits behind it.
func pseudonymMark(s string) bool {
	at := strings.Index(s, "REDACTED")
	return at >= 0 && (strings.Contains(s, "_REDACTED_") || len(s) > at+8 && isAlphanumeric(s[at+8]))
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// eachTokenPair calls f for every token that was sent back for one that was issued.
func (s *Trace) eachTokenPair(f func(l *link, was, is *wire.Item)) {
	for _, l := range s.links {
		for _, p := range l.pairs {
			if was, is := l.reply(p.r), l.sent(p.q); was.Token != "" && is.Token != "" && is.Type != referenceType &&
				was.What == is.What {
				f(l, was, is)
			}
		}
	}
}

func tokenNotCleaned(s *Trace, r *report) {
	s.eachTokenPair(func(l *link, was, is *wire.Item) {
		if isMaskedByRecorder(was.Token, is.Token) {
			return
		}
		r.addObserved(1)
		if slices.Contains(tokensOf(was), is.Token) {
			return
		}
		if by := cmp.Or(cleaningShape(was.Token, is.Token).editor,
			cleaningShape(plainBase64(was.Token), plainBase64(is.Token)).editor); by != "" {
			r.addChange(l, tokenPlace(l.to, is), was.TokenAt, l.to.wire.RuleFor(wires.ForeignToken),
				"the token of %s was edited by %s: %s", is.What, by, describeDifference(was.Token, is.Token))
		}
	})
}

func tokenPlace(x *exchange, it *wire.Item) wire.Place {
	if x.wire.Has(wires.SignedThinking) && it.What == wire.Redacted {
		return it.Under("data")
	}
	return it.Under(x.wire.Body.Token)
}

// signedTextNotCleaned: a signature covers the text beside it; on OpenAI it is encrypted
// and covers none.
func signedTextNotCleaned(s *Trace, r *report) {
	s.eachTokenPair(func(l *link, was, is *wire.Item) {
		if l.to.wire.Has(wires.EncryptedItems) || was.Text == "" || isMaskedByRecorder(was.Text, is.Text) {
			return
		}
		r.addObserved(1)
		if by := cleaningShape(was.Text, is.Text).editor; by != "" {
			f := r.addChange(l, is.Place, was.Place, l.to.wire.RuleFor(wires.SignedText),
				"text under a signature was edited by %s: %s", by, describeTextDifference(was.Text, is.Text))
			if l.to.wire.Has(wires.SignedParts) {
				f.Consequence = specs.Degraded // the signature is checked, the text beside it is not
			}
		}
	})
}

// argumentsNotCleaned compares values, because another spelling of the same JSON is no
// edit of a redactor.
func argumentsNotCleaned(s *Trace, r *report) {
	s.eachPair("", wire.Call, func(l *link, _ pair, was, is *wire.Item) {
		if !was.ArgsKnown || !isRunnable(was) || isMaskedByRecorder(was.Args, is.Args) {
			return
		}
		r.addObserved(1)
		if was.Args == is.Args || isEqualJSON(was.Args, is.Args) {
			return
		}
		for _, shape := range cleaningShapesIn(was.Args, is.Args) {
			r.addChange(l, is.Place, was.Place, "R54", "the arguments of tool call %s were edited by %s (%s): %s",
				is.Label(), shape.editor, shape.name, describeArguments(was.Args, is.Args))
			return
		}
	})
}

// cleaningShapesIn names the edits of the strings of two JSON values that have the same
// members.
func cleaningShapesIn(was, is string) (shapes []editShape) {
	a, errA := tree.Parse([]byte(was))
	b, errB := tree.Parse([]byte(is))
	if errA != nil || errB != nil {
		return nil
	}
	old, now := a.Texts(), b.Texts()
	if len(old) != len(now) {
		return nil
	}
	for i := range old {
		if shape := cleaningShape(old[i], now[i]); shape.editor != "" {
			shapes = append(shapes, shape)
		}
	}
	return shapes
}

// wordsNotCleaned: white space at the ends of a text may go, because providers refuse a
// text that has nothing else. Text whose signature is sent with it is for RED-001.
func wordsNotCleaned(s *Trace, r *report) {
	s.eachPair("", wire.Text, func(l *link, _ pair, was, is *wire.Item) {
		if !isVisibleText(was) || is.What != wire.Text || was.Token != "" && is.Token != "" ||
			isMaskedByRecorder(was.Text, is.Text) {
			return
		}
		r.addObserved(1)
		old, now := strings.TrimSpace(was.Text), strings.TrimSpace(is.Text)
		if by := cleaningShape(old, now).editor; by != "" {
			r.addChange(l, is.Place, was.Place, "R54", "what the model said was edited by %s: %s", by,
				describeTextDifference(old, now)).Consequence = unbound(l.to)
		}
	})
}

// resultNotCleaned: what a tool said may be cleaned before it is sent for the first time,
// and not afterwards.
func resultNotCleaned(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, is := itemsOf(then, wire.Result), itemsOf(now, wire.Result)
		for i := 0; i < len(was) && i < len(is) && was[i].ID == is[i].ID && was[i].Name == is[i].Name; i++ {
			old, later := textOf(was[i].Node), textOf(is[i].Node)
			if isMaskedByRecorder(old, later) {
				continue
			}
			r.addObserved(1)
			if shape := cleaningShape(old, later); shape.editor != "" {
				r.addPrefixFinding(now, is[i].Place,
					"the result that exchange %d sent at %s was edited afterwards by the agent's own redactor or sanitiser: %s", then.Index, was[i].Place.Path, describeTextDifference(old, later))
			}
		}
	})
}

func itemsOf(x *exchange, w wire.What) []*wire.Item {
	return x.itemsOfKind(span{0, len(x.req.Items)}, w)
}
