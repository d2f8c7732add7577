package check

import (
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
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
