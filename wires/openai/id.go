package openai

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/seal"
)

// Ids are a prefix and 50 hexadecimal digits (reference §2.2): 8 bytes that all
// ids of a response share, a zero, 4 bytes of time, and 12 that look random and
// tell us, without a memory, that the id was issued to the account, where in its
// response the item stood and what was around it (rules O-12 to O-14).

const (
	prefixResponse  = "resp_"
	prefixReasoning = "rs_"
	prefixMessage   = "msg_"
	prefixCall      = "fc_"
	prefixSearch    = "ws_"
	prefixCode      = "ci_"
	prefixCustom    = "ctc_"
	prefixFind      = "tsc_"
	prefixFound     = "tso_"
)

// place is what an id says of its item.
type place struct {
	// prefix tells what the id is of.
	prefix string
	// reply is what the ids of a response share.
	reply [13]byte
	// ordinal counts the items of the response.
	ordinal uint8
	// run is how many reasoning items stand directly before this one.
	run uint8
	// next is the prefix of the item after this one, "" for the last.
	next string
	// stored says that the provider keeps the item.
	stored bool
	// account is whose it is: no other can look it up.
	account string
}

// prefixes are those in the order in which a place numbers them. What a search found is
// none of them: no reasoning leads to it.
var prefixes = []string{"", prefixReasoning, prefixMessage, prefixCall, prefixSearch, prefixCode, prefixCustom,
	prefixFind}

// replyOf draws what the ids of a reply share.
func replyOf(r script.Reply) (reply [13]byte) {
	binary.BigEndian.PutUint64(reply[:], r.Dice("id/reply", 0).Uint64())
	binary.BigEndian.PutUint32(reply[9:], uint32(r.At.Unix()))
	return reply
}

const tagSize = 10

func (p place) signID(k seal.Key) string {
	meta := p.metaBytes()
	tag := k.MAC(p.macUse(), []byte(p.prefix), p.reply[:], meta[:])[:tagSize]
	raw := append(p.reply[:], maskMeta(k, p.reply, tag, meta)...)
	return p.prefix + hex.EncodeToString(append(raw, tag...))
}

func (p place) macUse() string {
	if p.account == "" {
		return "openai/id"
	}
	return "openai/id@" + p.account
}

func (p place) metaBytes() [2]byte {
	flags := min(p.run, 15)
	for i, prefix := range prefixes {
		if prefix == p.next {
			flags |= uint8(i) << 4
		}
	}
	if p.stored {
		flags |= 1 << 7
	}
	return [2]byte{p.ordinal, flags}
}

func maskMeta(k seal.Key, reply [13]byte, tag []byte, meta [2]byte) []byte {
	pad := k.MAC("openai/id/mask", reply[:], tag)
	return []byte{meta[0] ^ pad[0], meta[1] ^ pad[1]}
}

// openID reads an id that this provider issued to the account; ok is false for
// all others.
func openID(k seal.Key, id, account string) (p place, ok bool) {
	prefix, digits, _ := strings.Cut(id, "_")
	prefix += "_"
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(p.reply)+2+tagSize {
		return place{}, false
	}
	p.account = account
	copy(p.reply[:], raw)
	tag := raw[len(p.reply)+2:]
	meta := [2]byte(maskMeta(k, p.reply, tag, [2]byte(raw[len(p.reply):])))
	p.ordinal, p.run, p.stored = meta[0], meta[1]&15, meta[1]>>7 == 1
	p.prefix, p.next = prefix, prefixes[int(meta[1]>>4&7)%len(prefixes)]
	return p, p.signID(k) == id
}

// idBefore is the id of the reasoning item directly before the item at p.
func (p place) idBefore(k seal.Key) string {
	return place{
		prefix: prefixReasoning, reply: p.reply, ordinal: p.ordinal - 1, run: p.run - 1, next: p.prefix,
		stored: p.stored, account: p.account,
	}.signID(k)
}

// follows reports whether the item at p stood directly behind that at q.
func (p place) follows(q place) bool {
	return p.reply == q.reply && p.ordinal == q.ordinal+1 && p.prefix == q.next
}
