package replay

import "strings"

// takenOut is what a form has in place of a secret; see [redact.MaskPseudonyms].
const takenOut = "REDACTED"

// The context of a secret that is looked for, and the longest text that may stand in its place,
// in bytes.
const (
	contextBefore = 16
	contextAfter  = 8
	mostHidden    = 512
)

// diffForPeople is Diff for what people read. The recorder may have taken a secret out of a request
// that it learnt later, from another one: what stands there now is not shown.
func diffForPeople(recorded, asked []byte) []Change {
	changes := Diff(recorded, asked)
	for i, c := range changes {
		changes[i].New = hideSecrets(c.Old, c.New)
	}
	return changes
}

// hideSecrets returns asked without what stands where recorded has a secret taken out: between
// the same text before and after.
func hideSecrets(recorded, asked string) string {
	pieces := strings.Split(recorded, takenOut)
	var out strings.Builder
	for i, piece := range pieces[:len(pieces)-1] {
		before, after := piece[max(0, len(piece)-contextBefore):], pieces[i+1]
		at := strings.Index(asked, before)
		if at < 0 || before == "" {
			continue
		}
		at += len(before)
		out.WriteString(asked[:at] + takenOut)
		asked = asked[at+hiddenLength(asked[at:], after[:min(len(after), contextAfter)]):]
	}
	return out.String() + asked
}

// hiddenLength returns how much of a text stands before after, or before the next white space
// where it does not have that.
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
