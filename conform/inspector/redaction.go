package inspector

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// thoroughRedactor applies a Redactor to evidence, and to texts that quote parts of it:
// an excerpt of a finding may hold half of a secret, which no redactor can know.
type thoroughRedactor struct {
	next Redactor // nil: nothing is secret
	// fragments are all pieces of fragmentLength bytes of the secrets that were seen.
	fragments map[string]bool
}

// fragmentLength is the length in bytes of the shortest piece of a secret that is taken
// out of a text.
const fragmentLength = 8

// learnEvidence shows the redactor all exchanges, because a secret may come earlier
// than the header that tells that it is one.
func (t *thoroughRedactor) learnEvidence(ev *evidence.Evidence) {
	for i := range ev.Exchanges {
		t.cleanExchange(&ev.Exchanges[i])
	}
}

// cleanEvidence returns ev without secrets; ev is not changed.
func (t *thoroughRedactor) cleanEvidence(ev *evidence.Evidence) evidence.Evidence {
	clean := *ev
	if t.next == nil {
		return clean
	}
	t.learnEvidence(ev)
	clean.Exchanges = nil
	for i := range ev.Exchanges {
		clean.Exchanges = append(clean.Exchanges, t.cleanExchange(&ev.Exchanges[i]))
	}
	clean.Process = nil
	for _, p := range ev.Process {
		args := p.Args
		p.Args = nil
		for _, arg := range args {
			p.Args = append(p.Args, t.cleanText(arg))
		}
		p.Stdout, p.Stderr = t.cleanOutput(p.Stdout), t.cleanOutput(p.Stderr)
		clean.Process = append(clean.Process, p)
	}
	return clean
}

func (t *thoroughRedactor) cleanOutput(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	return []byte(t.cleanText(string(text)))
}

func (t *thoroughRedactor) cleanExchange(x *evidence.Exchange) evidence.Exchange {
	if t.next == nil {
		return *x
	}
	in := t.next.Interaction(x.ToInteraction())
	t.noteSecrets(x.Request.Body, in.Request.Body)
	t.noteSecrets(x.Response.Body, in.Response.Body)
	t.noteSecrets([]byte(x.Request.URL), []byte(in.Request.URL))
	for name, values := range x.Request.Header {
		t.noteSecrets([]byte(strings.Join(values, " ")), []byte(strings.Join(in.Request.Header[name], " ")))
	}
	clean := *x
	clean.Request.URL, clean.Request.Header = in.Request.URL, in.Request.Header
	clean.Response.Header = in.Response.Header
	if x.Request.Body != nil {
		clean.Request.Body = in.Request.Body
	}
	if x.Response.Body != nil {
		clean.Response.Body = in.Response.Body
	}
	return clean
}

// noteSecrets remembers the pieces of what the redactor replaced.
func (t *thoroughRedactor) noteSecrets(was, is []byte) {
	if len(was) != len(is) {
		return
	}
	for i := 0; i < len(was); i++ {
		from := i
		for i < len(was) && was[i] != is[i] {
			i++
		}
		if isSecretLike(was[from:i]) {
			for k := from; k+fragmentLength <= i; k++ {
				t.fragments[string(was[k:k+fragmentLength])] = true
			}
		}
	}
}

// isSecretLike reports whether a replaced text is long and mixed enough for its pieces
// to stand in no other text by chance.
func isSecretLike(text []byte) bool {
	return len(text) >= 2*fragmentLength && strings.ContainsAny(string(text), "0123456789") &&
		!strings.Contains(string(text), " ")
}

// cleanText returns text without secrets and without pieces of them.
func (t *thoroughRedactor) cleanText(text string) string {
	if t.next == nil || text == "" {
		return text
	}
	text = t.next.Text(text)
	if len(t.fragments) == 0 {
		return text
	}
	var masked []byte
	for i := 0; i+fragmentLength <= len(text); i++ {
		if t.fragments[text[i:i+fragmentLength]] {
			if masked == nil {
				masked = []byte(text)
			}
			for k := i; k < i+fragmentLength; k++ {
				masked[k] = '*'
			}
		}
	}
	if masked == nil {
		return text
	}
	return string(masked)
}
