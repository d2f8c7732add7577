package script

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
)

// replyLeniently answers a client of which nothing is known. Its main conversation is
// the one that holds the prompts of the scenario; the turn follows from the last of
// them and from the model's turns since then, so that neither a first turn that the
// client made up nor a summary of earlier ones counts. All else gets a short answer.
func (s *Script) replyLeniently(req Request) (Reply, *Refusal) {
	if _, ok := s.Scenario.Target(req.Provider); !ok {
		return Reply{}, s.checkExpectation(req, -1, "a request for "+s.turnFor(), "one for "+req.Provider)
	}
	asked := s.Intent(req)
	i := s.turnInConversation(asked)
	if isAside(asked) || i < 0 {
		return s.answerAside(req, asked), nil
	}
	if s.lacksTools(asked, i) {
		if s.Mismatch != nil {
			refusal := s.checkExpectation(req, i, "a request that offers tools", "one that offers none")
			refusal.Mismatch.NoTools = true
			s.Mismatch(refusal.Mismatch)
		}
		return s.answerAside(req, asked), nil
	}
	if search, ok := s.searchFirst(req, i, asked); ok {
		reply := Generated(req, nil, "", s.Key, s.Now())
		reply.Blocks, reply.Stop = searchBlocks(req, search), specs.StopTool
		return reply, nil
	}
	blocks, refusal := s.resolveBlocks(req, i, asked)
	if refusal != nil {
		return Reply{}, refusal
	}
	return s.newReply(req, i, blocks, s.Attempts.countTurn(req.Provider, i)), nil
}

// turnInConversation is the index of the turn that answers a conversation, -1 when it
// is not the main one or the script says nothing more.
func (s *Script) turnInConversation(asked Intent) int {
	step, turns := -1, []int(nil)
	for _, m := range asked.Messages {
		if next := s.stepOf(m.Text, step); next >= 0 {
			step, turns = next, nil
		}
		turns = append(turns, m.Turns...)
	}
	if step < 0 {
		return -1
	}
	answers := s.Scenario.StepTurns(step)
	at := len(turns)
	if at >= len(answers) {
		at = s.countReplies(answers, turns)
	}
	if at < len(answers) {
		return answers[at]
	}
	return -1
}

// countReplies counts the replies that turns with so many calls come from, where the client
// sends the calls of one reply back in several turns, each with its result.
func (s *Script) countReplies(answers, turns []int) int {
	replies, left := 0, 0
	for _, calls := range turns {
		if 0 < calls && calls <= left {
			left -= calls
			continue
		}
		left = 0
		if replies < len(answers) {
			left = s.countCalls(answers[replies]) - calls
		}
		replies++
	}
	return replies
}

// countCalls counts the calls of a turn that the client answers.
func (s *Script) countCalls(turn int) (n int) {
	for _, b := range s.Scenario.Turns[turn].Emit {
		if b.Kind == specs.KindCall {
			n++
		}
	}
	return n
}

// stepOf is the step whose prompt stands last in a message, -1 for none: clients put an
// interrupted prompt and the next one into one message. Of steps with equal prompts it
// is the one after current.
func (s *Script) stepOf(text string, current int) int {
	found, at := -1, -1
	for i := range s.Scenario.Steps {
		mark := s.Scenario.PromptMark(i, s.Seed)
		if mark == "" {
			continue
		}
		if here := strings.LastIndex(text, mark); here > at || here >= 0 && here == at && found <= current {
			found, at = i, here
		}
	}
	return found
}

// lacksTools reports whether turn i calls a tool and the client has none, also after it was
// asked to look for one.
func (s *Script) lacksTools(asked Intent, i int) bool {
	isSearched := len(asked.Tools) == 0 || asked.Searches >= maxSearches
	return isSearched && s.countCalls(i) > 0 && !slices.ContainsFunc(asked.Tools, func(t Tool) bool { return !t.isSearch() })
}

// maxAsideSystem is the length in bytes up to which the instructions of a request that
// offers tools are taken for those of a title: the main ones are long and speak of
// everything.
const maxAsideSystem = 2000

// isAside reports whether a request asks for something beside the main conversation.
func isAside(asked Intent) bool {
	if len(asked.Calls) > 0 {
		return false
	}
	without := asked
	without.Tools = nil
	if len(asked.Tools) > 0 && len(asked.System) > maxAsideSystem {
		without.System = ""
	}
	_, _, ok := SideTraffic(without)
	return ok
}

// answerAside is a short answer without calls, unless the request demands one.
func (s *Script) answerAside(req Request, asked Intent) Reply {
	forced := asked.Choice != "" && asked.Choice != ChoiceNone
	if !forced {
		asked.Tools = nil
	}
	if text, limited, ok := SideTraffic(asked); ok {
		stop := specs.StopEnd
		if limited {
			stop = specs.StopMaxTokens
		}
		return Generated(req, []specs.Block{textBlock(text)}, stop, s.Key, s.Now())
	}
	blocks, stop := AutoReply(asked)
	return Generated(req, blocks, stop, s.Key, s.Now())
}

// countTurn returns how often turn i was asked for before. Clients change a request
// before they send it again, so its bytes do not count.
func (a *Attempts) countTurn(provider string, i int) int {
	return a.countAttempt(Request{Provider: provider}, i)
}
