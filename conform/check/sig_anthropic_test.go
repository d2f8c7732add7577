package check_test

import "testing"

func TestSignatures(t *testing.T) {
	const first = "0: u\"A.\" -> t\"Hm.\"#c2lnMDAx c:call_1:read{\"p\":\"a\"}\n"
	const rest = ` c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`
	const legal = first + `1: u"A." t"Hm."#c2lnMDAx` + rest
	testPairs(t, []checkPair{
		{"SIG-001/signature-bytes", "anthropic", first + `1: u"A." t"Hm."#c2lnMDAy` + rest, legal},
		{"SIG-001/thinking-text", "anthropic", first + `1: u"A." t"Hm!"#c2lnMDAx` + rest, legal},
		{"SIG-002/kept", "anthropic", first + `1: u"A."` + rest, legal},
		{"ORD-008/block-order", "anthropic", first + `1: u"A." c:call_1:read{"p":"a"} t"Hm."#c2lnMDAx r:call_1:read"x" -> a"Done."`, legal},
	})
}
