package wires

import "slices"

// Habit is something that some wires do and others do not, and that the rules about a whole conversation
// have to know.
type Habit string

// The habits.
const (
	// Blocks: a conversation is a list of messages with typed blocks. ItemList: a flat list of items.
	// Contents: a list of contents with parts that are known by their members.
	Blocks   Habit = "blocks"
	ItemList Habit = "item list"
	Contents Habit = "contents"

	// SignedThinking: thinking is a block with a signature over its text. EncryptedItems: hidden state is
	// the encrypted content of an item of its own. SignedParts: signatures stand on parts of any kind.
	SignedThinking Habit = "signed thinking"
	EncryptedItems Habit = "encrypted items"
	SignedParts    Habit = "signed parts"

	// StoresReplies: a request may name a reply that the provider has stored, and go on with that.
	StoresReplies Habit = "stores replies"
	// TextArguments: the arguments of a call are a text that holds JSON, and their spelling stays.
	TextArguments Habit = "text arguments"
	// TwoSpellings: a member is known in camel case and with underscores.
	TwoSpellings Habit = "two spellings"

	// DropsOpenCalls: calls whose tools were interrupted need not come back; a request holds no call without a result.
	DropsOpenCalls Habit = "drops open calls"

	// MarksErrors: the result of a tool that failed is marked, not only worded as an error.
	MarksErrors Habit = "marks errors"
	// NamesErrors: what a tool that failed says stands in a member of its own, which the provider suggests.
	NamesErrors Habit = "names errors"
	// ResultsTogether: the results of parallel calls stand in one message. ResultsInTurn: a message that
	// answers tools continues the turn, whatever else it says.
	ResultsTogether Habit = "results together"
	ResultsInTurn   Habit = "results in turn"
	// NamesCallers: a call says which program made it.
	NamesCallers Habit = "names callers"
	// ServerTools: calls of the provider's own tools, and what they answered, are blocks of the model.
	// ServerParts: they are parts of the model, and calls of functions that its servers answered stand
	// among those that the client has to answer.
	ServerTools Habit = "server tools"
	ServerParts Habit = "server parts"
	// Citations: texts cite results of a search with places that only the provider can read.
	Citations Habit = "citations"
	// Namespaces: tools may stand in namespaces.
	Namespaces Habit = "namespaces"

	// MarksCache: requests mark how far the prefix is cached. CacheKeys: requests with one key go to one machine.
	MarksCache Habit = "marks cache"
	CacheKeys  Habit = "cache keys"
	// PromptFirst: the system prompt stands before the tools in what is cached.
	PromptFirst Habit = "prompt first"

	// Betas: members need a beta that a header names.
	Betas Habit = "betas"
	// KeepsDeclining: the model declines as long as the turn that it declined is in the conversation.
	KeepsDeclining Habit = "keeps declining"
	// QuotaIsRate: the error of a spent quota has the words of a rate limit.
	QuotaIsRate Habit = "quota is rate"
	// RefusesInReply: a refusal may stand in the place of a reply with status 200.
	RefusesInReply Habit = "refuses in reply"
)

// Has reports whether the wire has a habit. An unknown wire, nil, has none.
func (w *Wire) Has(h Habit) bool { return w != nil && slices.Contains(w.Habits, h) }

// Breach names what a rule about a whole conversation forbids; each wire has its own id for the rule.
type Breach string

// The breaches.
const (
	ChangedToken      Breach = "a token comes back with other bytes"
	ChangedCallToken  Breach = "a token beside what was said comes back with other bytes"
	RepeatedCall      Breach = "a call is sent twice"
	RepeatedItem      Breach = "an item is sent twice"
	OutOfOrder        Breach = "items of a reply changed their order"
	ForeignToken      Breach = "a token of another issuer"
	ForeignCompaction Breach = "a compaction of another issuer"
	SignedText        Breach = "text under a signature changed"
	ContextFull       Breach = "a request that was too long is made again"
	NotPDF            Breach = "a document is not what its type says"
	NotUnicode        Breach = "a text is not Unicode"
	MovedToken        Breach = "a token stands apart from the rest of its reply"
)

// RuleFor returns the id of the wire's rule about a breach, empty where no source says that the provider minds.
func (w *Wire) RuleFor(b Breach) string {
	if w == nil {
		return ""
	}
	return w.Rules[b]
}

// Stops are the reasons with which a reply says that it ended, by what they mean.
type Stops struct {
	// Unanswered are of replies that are whole and no answer: cut off, refused, filtered, paused.
	Unanswered []string
	// Declined are of requests that the model, or a filter, declines as a whole.
	Declined []string
	// Budget is of a reply that reached the limit of tokens. BudgetWord, unless empty, stands in such a reply.
	Budget, BudgetWord string
	// Filtered is the reason of an incomplete reply that a filter ended; empty where Declined says that.
	Filtered string
}
