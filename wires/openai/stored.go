package openai

import "github.com/meerkat-go/conformance/simulator/script"

// Kept returns the id under which the response to r can be asked for again, ""
// when it is not kept, and whether it is made in the background: such a one is
// kept in any case, otherwise it could not be fetched.
func Kept(r script.Reply) (id string, background bool) {
	v := newSignedReply(r)
	background = v.q.body.Get("background").True()
	if !v.q.store && !background {
		return "", false
	}
	return v.responseID(), background
}

// ResponseID returns the id of the response to r.
func ResponseID(r script.Reply) string { return newSignedReply(r).responseID() }
