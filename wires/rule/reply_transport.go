package rule

import (
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/wire"
)

// transportRules judge how a reply is sent, whatever it says.
var transportRules = []ReplyRule[*Exchange]{
	{"SV-H1", "STR-001/content-type", contentTypeFits},
	{"SV-H7", "STR-001/framing", textIsUTF8},
}

// contentTypeFits: a client chooses its reader by the content type.
func contentTypeFits(x *Exchange, p *Pass) {
	if !x.IsStream() {
		return
	}
	got := x.Header.Get("Content-Type")
	want := "text/event-stream"
	if x.Reply.Form == wire.Array {
		want = "application/json"
	}
	if got == "" && !x.SawAll {
		return
	}
	p.Observe()
	if !strings.HasPrefix(strings.ToLower(got), want) {
		p.ReportAt(HeaderPlace("content-type"), "stream is sent as %q, not as %s", got, want)
	}
}

func textIsUTF8(x *Exchange, p *Pass) {
	if len(x.Body) == 0 {
		return
	}
	if p.Observe(); utf8.Valid(x.Body) {
		return
	}
	off := 0
	for off < len(x.Body) {
		r, size := utf8.DecodeRune(x.Body[off:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		off += size
	}
	p.ReportAt(wire.Place{Event: -1, Off: off}, "the bytes from %d on are not UTF-8", off)
}
