package replay

import (
	"strings"

	"github.com/meerkat-go/conformance/proxy/redact"
)

// redactedMark is what a form has in place of a secret; see [redact.MaskPseudonyms].
const redactedMark = "REDACTED"

// How much text around a secret is looked for, how much of it must be there at least, and the
// longest text that may stand in the place of one, in bytes.
const (
	contextBefore = 16
	leastBefore   = 4
	contextAfter  = 8
	mostHidden    = 512
)

// diffForPeople is diffJSON for output. The recorder may have learnt from another request that a
// text is secret, and taken it out of this one: what stands in its place is not shown.
func diffForPeople(recorded, asked []byte) []change {
	changes := diffJSON(recorded, asked)
	for i, c := range changes {
		changes[i].New = hideSecrets(c.Old, c.New)
	}
	return changes
}

// hideSecrets returns asked without the texts that stand where recorded has redactedMark,
// between the same text before and after it, and without the same ones further on.
func hideSecrets(recorded, asked string) string {
	pieces := strings.Split(recorded, redactedMark)
	var out strings.Builder
	for i, piece := range pieces[:len(pieces)-1] {
		before, after := piece[max(0, len(piece)-contextBefore):], pieces[i+1]
		at := strings.Index(asked, before)
		for at < 0 && len(before) > leastBefore {
			before = before[1:]
			at = strings.Index(asked, before)
		}
		if at < 0 || before == "" {
			continue
		}
		at += len(before)
		end := at + hiddenLength(asked[at:], after[:min(len(after), contextAfter)])
		secret := strings.TrimRight(asked[at:end], `.,;:"`)
		out.WriteString(asked[:at] + redactedMark)
		if asked = asked[end:]; redact.CouldBeSecret(secret) {
			asked = strings.ReplaceAll(asked, secret, redactedMark)
		}
	}
	return out.String() + asked
}

// hiddenLength returns the length of the beginning of text that stands before after or, where
// after does not occur, before the next white space.
func hiddenLength(text, after string) int {
	near := text[:min(len(text), mostHidden)]
	if n := strings.Index(near, after); n >= 0 && after != "" {
		return n
	}
	if n := strings.IndexAny(near, " \t\r\n"); n >= 0 {
		return n
	}
	return len(near)
}
