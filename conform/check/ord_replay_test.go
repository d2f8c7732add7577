package check_test

import "testing"

func TestReplayed(t *testing.T) {
	const first = "0: u\"A.\" -> a\"Reading.\" c:call_1:read{\"p\":\"a\"}\n"
	const legal = first + `1: ..0 r:call_1:read"x" -> a"Done."`
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		testPairs(t, []checkPair{
			{"ORD-009/calls-kept", provider, first + `1: u"A." a"Reading." u"Go on." -> a"Done."`, legal},
			{"ORD-009/calls-kept", provider, first + `1: ..0 c:call_2:read{"p":"b"} r:call_1:read"x" r:call_2:read"y" -> a"Done."`, legal},
			{"ORD-010/sent-once", provider, first + `1: ..0 c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`, legal},
			{"ORD-011/arguments", provider, first + `1: u"A." a"Reading." c:call_1:read{"p":"b"} r:call_1:read"x" -> a"Done."`, legal},
			{"ORD-011/arguments", provider, first + `1: u"A." a"Reading." c:call_1:write{"p":"a"} r:call_1:write"x" -> a"Done."`, legal},
			{"ORD-013/text-unchanged", provider, first + `1: u"A." a"Reading!" c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`, legal},
			{"ORD-013/text-unchanged", provider, first + `1: u"A." c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`, legal},
		})
	}
}
