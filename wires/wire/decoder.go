// Package wire reads the traffic of all wires for the referee: requests and replies
// as lists of [Item], which are texts, thinking, calls and results in one form for
// all providers, each with the [Place] where it stands.
//
// Start with [ReadRequest] and [ReadReply]:
//
//	reply := wire.ReadReply("anthropic", 200, body)
//	for _, item := range reply.Items {
//		fmt.Println(item.What, item.Path, item.Text)
//	}
//
// What is particular to a wire is read by the [Decoder] in its folder. Reading never
// fails: what cannot be read is absent, and a check reports it. The package shares
// nothing with the decoders of any agent, and no agent may use it, because a bug
// on both sides would stay unseen. It keeps no state; values are plain data and may be
// read from any goroutine.
package wire

import (
	"fmt"
	"net/url"

	"github.com/meerkat-go/conformance/wires"
)

// Decoder reads the requests and replies of one wire.
// Its methods are pure and safe for concurrent use.
type Decoder interface {
	// ReadRequest adds to a request, whose Doc is read, what its provider reads there.
	ReadRequest(q *Request, method string, u *url.URL)
	// ReadReply adds the items and the ending to a reply whose Doc and Events are read.
	ReadReply(r *Reply)
	// TokenKey brings a token to the form in which the provider compares it.
	TokenKey(token string) string
}

var decoders wires.Table[Decoder]

// Register adds the decoder of a wire.
func Register(wire string, d Decoder) error {
	if d == nil {
		return fmt.Errorf("wire %q: lacks its decoder", wire)
	}
	return decoders.Add(wire, "a decoder", d)
}

// decoderOf returns the decoder of a wire, nil if the wire is not known.
func decoderOf(provider string) Decoder { return decoders.All()[provider] }

// TokenKey brings a token to the form in which its provider compares it.
func TokenKey(provider, token string) string {
	if d := decoderOf(provider); d != nil {
		return d.TokenKey(token)
	}
	return token
}
