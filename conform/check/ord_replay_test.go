package check_test

import (
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
)

func TestReplayed(t *testing.T) {
	const first = "0: u\"A.\" -> a\"Reading.\" c:call_1:read{\"p\":\"a\"}\n"
	const legal = first + `1: ..0 r:call_1:read"x" -> a"Done."`
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		testPairs(t, []checkPair{
			{"ORD-009/calls-kept", provider, first + `1: u"A." a"Reading." u"Go on." -> a"Done."`, legal},
			{"ORD-009/calls-kept", provider,
				first + `1: ..0 c:call_2:read{"p":"b"} r:call_1:read"x" r:call_2:read"y" -> a"Done."`, legal},
			{"ORD-010/sent-once", provider,
				first + `1: ..0 c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`, legal},
			{"ORD-011/arguments", provider,
				first + `1: u"A." a"Reading." c:call_1:read{"p":"b"} r:call_1:read"x" -> a"Done."`, legal},
			{"ORD-011/arguments", provider,
				first + `1: u"A." a"Reading." c:call_1:write{"p":"a"} r:call_1:write"x" -> a"Done."`, legal},
			{"ORD-013/text-unchanged", provider,
				first + `1: u"A." a"Reading!" c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`, legal},
			{"ORD-013/text-unchanged", provider,
				first + `1: u"A." c:call_1:read{"p":"a"} r:call_1:read"x" -> a"Done."`, legal},
		})
	}
}

// TestForcedAnswerAsText: where the request forced its only tool, the client wanted a
// structured answer and may send it back as a text. A call that the model chose may not
// become one.
func TestForcedAnswerAsText(t *testing.T) {
	const said = `OPTIONS: u"A." -> c:call_1:answer{"n":7}
OPTIONS: u"A." a"{\"n\":7}" u"Again." -> c:call_2:answer{"n":3}`
	for options, broken := range map[string]bool{
		"tools=answer choice=any":                                false,
		"tools=answer choice=any snake=yes":                      false,
		"tools=answer choice=any:answer":                         false,
		"tools=answer,read choice=any:answer":                    false,
		"tools=answer,read choice=any:answer snake=yes":          false,
		"tools=answer,read choice=any:read system=Answer_by_it.": true,
		"tools=answer,read choice=any":                           true,
		"tools=answer choice=auto":                               true,
		"tools=answer":                                           true,
	} {
		for _, provider := range []string{"anthropic", "openai", "gemini"} {
			ev := parseTranscript(t, strings.ReplaceAll(said, "OPTIONS", options)).evidence(provider)
			for _, id := range []string{"ORD-009/calls-kept", "ORD-013/text-unchanged"} {
				if found := find(t, id).Run(check.Decode(&ev)).Findings; len(found) > 0 != broken {
					t.Errorf("%s, %s, %s: %+v", provider, options, id, found)
				}
			}
		}
	}
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		testPairs(t, []checkPair{{"ORD-013/text-unchanged", provider,
			"tools=answer choice=any: u\"A.\" -> a\"Seven.\"\n" +
				`tools=answer: u"A." a"Eight." u"Again." -> a"Three."`,
			"tools=answer choice=any: u\"A.\" -> a\"Seven.\"\n" +
				`tools=answer: u"A." a"Seven." u"Again." -> a"Three."`}})
	}
}

// TestBegunAnswerIsOneText: what the client began and the model continued may come back as
// one text. Other words before the model's are none of it.
func TestBegunAnswerIsOneText(t *testing.T) {
	const begun = `0: u"A." a"As JSON: " -> a"{}"` + "\n"
	for _, provider := range []string{"anthropic", "openai", "gemini"} {
		testPairs(t, []checkPair{{"ORD-013/text-unchanged", provider,
			begun + `1: u"A." a"As YAML: {}" u"Go on." -> a"On."`,
			begun + `1: u"A." a"As JSON: {}" u"Go on." -> a"On."`}})
	}
}
