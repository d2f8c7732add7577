package handoff

// Rule is a hand-off rule: what a target is not given as the history holds it,
// or what it is given instead. A [Degradation] names the rule that caused it.
type Rule struct {
	// Name is what degradations, metrics and messages say; it never changes.
	Name string
	// Sentence says what the rule does and when.
	Sentence string
	// Provider lists the provider rules behind it, such as "A-37"; may be empty.
	Provider []string
}

// The names of the rules.
const (
	ruleOmittedThinking    = "omitted-thinking"
	ruleReplacedCompaction = "replaced-compaction"
	ruleInterruptedReply   = "interrupted-reply"
	ruleDuplicateIDs       = "duplicate-call-id"
	ruleForeignBlock       = "foreign-block"
	ruleForeignRedacted    = "foreign-redacted-thinking"
	ruleForeignThinking    = "foreign-thinking"
	ruleForeignToken       = "foreign-token"
	ruleOtherAccount       = "other-account"
	ruleOtherModel         = "other-model"
	ruleMalformedToken     = "malformed-token"
	ruleUnsignedThinking   = "unsigned-thinking"
	ruleThinkingOff        = "thinking-off"
	ruleCompactedThinking  = "compacted-thinking"
	ruleRepeatedToken      = "repeated-token"
	ruleUnpairedServerTool = "unpaired-server-tool"
	ruleDeclinedReply      = "declined-reply"
	ruleTornReply          = "torn-reply"
	ruleTrailingThinking   = "trailing-thinking"
	ruleToolName           = "tool-name"
	ruleInvalidArguments   = "invalid-arguments"
	ruleMissingSignature   = "missing-signature"
	ruleUnsupportedMedia   = "unsupported-media"
	ruleOrphanResult       = "orphan-result"
	ruleOpenCall           = "open-call"
	ruleSpeakerOrder       = "speaker-order"
	ruleOpenLoop           = "open-tool-loop"
	ruleRefusedToken       = "refused-token"
	ruleRefusedBlock       = "refused-block"
	ruleRefusedMedia       = "refused-media"
	ruleRefusedMessage     = "refused-message"
)

// The names of the rules about tools and parameters. The request is built outside of
// this package, and so are the degradations.
const (
	RuleRefusedTool      = "refused-tool"
	RuleRefusedParameter = "refused-parameter"
	RuleToolSchema       = "tool-schema"
)

// replyRules decide, in this order, the disposition of each block of a reply.
// Each looks at the whole reply. When several apply to a block, the strongest
// disposition holds and the first reason is reported.
var replyRules = []struct {
	Rule
	apply func(*reply)
}{
	{
		Rule{
			ruleOmittedThinking,
			"Thinking without a token is left out where the provider never wants it back; nothing is lost.", nil,
		},
		(*reply).omitThinking,
	},
	{
		Rule{
			ruleReplacedCompaction,
			"A provider's compaction is sent only to its origin, and only until a later summary replaces it; others get the messages that it stood for, and nothing is lost.",
			nil,
		},
		(*reply).omitReplacedCompactions,
	},
	{
		Rule{
			ruleInterruptedReply,
			"Of a reply that was interrupted, text and whole calls stay, without tokens; an incomplete call does not.",
			nil,
		},
		(*reply).stripInterrupted,
	},
	{
		Rule{
			ruleDeclinedReply,
			"A reply with which the model declined is left out where the provider goes on declining as long as it stands in the conversation.",
			nil,
		},
		(*reply).dropDeclinedReply,
	},
	{
		Rule{
			ruleDuplicateIDs,
			"Of calls with the same id in one reply the first stays, because their results could not be told apart.",
			[]string{"A-19"},
		},
		(*reply).dropDuplicateIDs,
	},
	{
		Rule{
			ruleUnsignedThinking,
			"Thinking without a token, or of unknown origin, stays in the store and is not sent.", []string{"A-34"},
		},
		(*reply).dropAnonymousThinking,
	},
	{
		Rule{
			ruleForeignBlock, "A block of a kind that only its provider understands is sent to no other provider.",
			nil,
		},
		(*reply).dropForeignBlocks,
	},
	{
		Rule{ruleForeignRedacted, "Redacted thinking is sent only to its origin.", []string{"A-36"}},
		(*reply).dropForeignRedacted,
	},
	{
		Rule{ruleForeignThinking, "Thinking of another provider is left out; nothing imitates it.", nil},
		(*reply).dropForeignThinking,
	},
	{
		Rule{
			ruleForeignToken, "A continuity token of another provider is taken off the text or call that carries it.",
			nil,
		},
		(*reply).stripForeignTokens,
	},
	{
		Rule{ruleOtherAccount, "A token issued to another account, or by another API, is not sent.", nil},
		(*reply).stripOtherAccounts,
	},
	{
		Rule{
			ruleOtherModel,
			"A token of another model of the same provider is sent only if the catalogue says that the model reads it.",
			nil,
		},
		(*reply).stripOtherModels,
	},
	{
		Rule{
			ruleRefusedToken,
			"After the provider has refused a token, the conversation up to there is sent without tokens.",
			[]string{"A-34", "O-15", "G-18"},
		},
		(*reply).stripRefusedTokens,
	},
	{
		Rule{
			ruleRefusedBlock,
			"A block of a kind that only the provider understands, and that it has refused, is not sent again.", nil,
		},
		(*reply).dropRefusedBlocks,
	},
	{
		Rule{
			ruleMalformedToken, "A signature that is not base64 is not sent to a provider that reads it as bytes.",
			[]string{"G-19"},
		},
		(*reply).stripMalformedTokens,
	},
	{Rule{ruleUnsignedThinking, "", nil}, (*reply).dropUnsignedThinking},
	{
		Rule{
			ruleThinkingOff,
			"While the request turns thinking off, earlier thinking is left out where the provider refuses it.",
			[]string{"A-39"},
		},
		(*reply).dropWhileThinkingOff,
	},
	{
		Rule{
			ruleCompactedThinking, "Thinking that is bound to the conversation before a compaction is left out.",
			[]string{"A-41"},
		},
		(*reply).dropCompactedThinking,
	},
	{
		Rule{
			ruleRepeatedToken,
			"An item or token that was sent back before is sent a second time without its identity.",
			[]string{"O-9", "A-37"},
		},
		(*reply).stripRepeatedTokens,
	},
	{
		Rule{
			ruleUnpairedServerTool,
			"A call of a provider's own tool without its result, or a result without its call, is left out.", nil,
		},
		(*reply).dropUnpairedServerTools,
	},
	{
		Rule{
			ruleTornReply,
			"When thinking or a call of a reply cannot be sent, the tokens of its other blocks are not sent either.",
			[]string{"A-37"},
		},
		(*reply).stripTornReply,
	},
	{
		Rule{
			ruleTrailingThinking,
			"Thinking that nothing follows is left out: the reply was cut off and the provider refuses it.",
			[]string{"A-40"},
		},
		(*reply).dropTrailingThinking,
	},
}

// otherRules are those that do not decide about whole blocks of a reply: they
// fit calls and parts to the target, complete pairs and keep the order of
// speakers.
var otherRules = []Rule{
	{ruleToolName, "A tool name that the target refuses is spelled in a form that it takes.", nil},
	{
		ruleInvalidArguments,
		"Call arguments that are not an object travel as a string in an object; bytes that are not valid UTF-8 as U+FFFD.",
		nil,
	},
	{
		ruleMissingSignature,
		"A first call without a signature of the target's model carries the documented stand-in.", nil,
	},
	{
		ruleUnsupportedMedia, "An image or file that the target does not take becomes a short text that says so.",
		[]string{"A-47"},
	},
	{ruleOrphanResult, "A result that answers no call of the reply before it is left out.", []string{"A-17"}},
	{
		ruleOpenCall,
		"A call without a result gets one that says what is known: its stored result, interrupted, or not executed.",
		[]string{"A-15"},
	},
	{
		ruleSpeakerOrder,
		"Messages that say nothing are left out, and a short text of the user stands where a provider demands one; nothing is lost.",
		[]string{"A-8", "A-14", "G-13", "G-16"},
	},
	{
		ruleRefusedMedia, "An image or file that the provider has refused becomes a short text that says so.",
		[]string{"A-46"},
	},
	{
		ruleRefusedMessage,
		"What the user said, or a tool returned, is left out after the provider refused a request because of it.", nil,
	},
	{RuleRefusedTool, "A tool that the provider has refused is not offered.", []string{"A-7", "O-20", "G-12"}},
	{RuleRefusedParameter, "A parameter that the model has refused is not sent.", nil},
	{
		RuleToolSchema, "A tool that the target would refuse is not offered; what can be said otherwise is.",
		[]string{"A-7", "O-20", "G-12"},
	},
	{
		ruleOpenLoop,
		"While a tool loop is open that the target did not begin with thinking, a model with a thinking budget does not think.",
		[]string{"A-38"},
	},
}

// Rules returns all hand-off rules in the order in which they apply, each name
// once. The slice is the caller's.
func Rules() []Rule {
	var all []Rule
	for _, r := range replyRules {
		if r.Sentence != "" { // a second step of a rule above
			all = append(all, r.Rule)
		}
	}
	return append(all, otherRules...)
}
