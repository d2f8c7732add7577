// Package repair decides what to change of a request that a provider refused for its
// form, so that the same bytes are never sent twice and the conversation goes on.
//
// [Decide] is a pure function from a [Refused] request to a [handoff.Repair], or to none.
// The repair is stored with the session; [handoff.Build] and [Apply] hold it in every
// later request, also of another process:
//
//	if fix, ok := repair.Decide(refused); ok {
//		history.Repairs = append(history.Repairs, fix) // build the request again
//	}
//
// The provider's words and the place that it names are hints: they may be wrong. A
// repair takes the least that the hint names. When that was taken already, it takes all
// of its kind, and then there is none: each repair changes the request.
package repair

import (
	"slices"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Refused is a request that was refused, and the conversation that it was built from.
type Refused struct {
	// Err is the refusal; [provider.Error.IsFormRefusal] must hold.
	Err *provider.Error
	// Request is what was sent and Body how it was written; Body may be nil.
	Request *provider.Request
	Body    []byte
	History handoff.History
	Target  handoff.Target
}

// Decide returns the repair of a refused request. ok is false when there is nothing to
// leave out that may be the cause; see [Quarantine] then.
func Decide(r Refused) (fix handoff.Repair, ok bool) {
	place := findPlace(r.Body, pathOf(r.Err))
	for _, kind := range r.subjects(place) {
		for _, fix := range r.candidates(kind, place) {
			if r.isNew(fix) && r.changesRequest(fix) {
				return fix, true
			}
		}
	}
	return handoff.Repair{}, false
}

// Quarantine returns the repair that leaves out what was added since the last reply,
// for the next request: the one before was accepted. ok is false when nothing was added.
func Quarantine(r Refused) (fix handoff.Repair, ok bool) {
	fix = r.newRepair(handoff.RepairMessages, "")
	fix.From = sinceReply(r.History.Messages)
	return fix, fix.From < fix.Through && r.isNew(fix)
}

// sinceReply returns the index of the first message behind the last reply.
func sinceReply(messages []transcript.Message) int {
	n := len(messages)
	for n > 0 && messages[n-1].Role != transcript.RoleAssistant {
		n--
	}
	return n
}

func (r *Refused) newRepair(kind handoff.RepairKind, name string) handoff.Repair {
	fix := handoff.Repair{
		Kind: kind, Provider: r.Target.Provider, Account: r.Target.Account, Name: name,
		Through: len(r.History.Messages),
	}
	if kind == handoff.RepairParameter {
		fix.Model = r.Target.Model.Model
	}
	return fix
}

// candidates returns the repairs of a kind, the least first.
func (r *Refused) candidates(kind handoff.RepairKind, place place) (list []handoff.Repair) {
	add := func(name string) { list = append(list, r.newRepair(kind, name)) }
	switch kind {
	case handoff.RepairMedia:
		if name := r.mediaAt(place); name != "" {
			add(name)
		}
		add("")
	case handoff.RepairOpaque:
		if name := r.opaqueNamed(place); name != "" {
			add(name)
		}
		add("")
	case handoff.RepairTool:
		if name := r.toolNamed(); name != "" {
			add(name)
		}
	case handoff.RepairParameter:
		for _, name := range r.parametersNamed() {
			add(name)
		}
	case handoff.RepairTokens:
		add("")
	case handoff.RepairMessages:
		if fix, ok := Quarantine(*r); ok {
			list = append(list, fix)
		}
	}
	return list
}

// isNew reports whether no repair that holds already leaves out the same.
func (r *Refused) isNew(fix handoff.Repair) bool {
	return !slices.ContainsFunc(r.History.Repairs, func(old handoff.Repair) bool {
		return old.Kind == fix.Kind && (old.Name == fix.Name || old.Name == "") && old.From <= fix.From &&
			old.Through >= fix.Through && old.AppliesTo(r.Target)
	})
}

// changesRequest reports whether the request holds what the repair leaves out.
func (r *Refused) changesRequest(fix handoff.Repair) bool {
	switch fix.Kind {
	case handoff.RepairTool:
		return hasTool(r.Request.Tools, fix.Name)
	case handoff.RepairParameter:
		return isSet(r.Request, fix.Name)
	case handoff.RepairMessages:
		return slices.ContainsFunc(
			r.History.Messages[fix.From:fix.Through],
			func(m transcript.Message) bool { return m.Role == transcript.RoleToolResults },
		)
	case handoff.RepairMedia:
		return r.anyPart(func(p *transcript.Part) bool { return fix.Name == "" || fix.Name == handoff.PartDigest(p) })
	case handoff.RepairTokens:
		return r.anyBlock(func(b *transcript.Block) bool { return b.Meta != nil || len(b.Raw) > 0 })
	case handoff.RepairOpaque:
		return r.anyBlock(func(b *transcript.Block) bool {
			return b.Type == transcript.BlockOpaque && (fix.Name == "" || fix.Name == b.Kind)
		})
	}
	return false
}

// anyPart reports whether one of the parts that were sent matches.
func (r *Refused) anyPart(matches func(*transcript.Part) bool) bool {
	for i := range r.Request.Messages {
		m := &r.Request.Messages[i]
		lists := [][]transcript.Part{m.Parts}
		for k := range m.Results {
			lists = append(lists, m.Results[k].Parts)
		}
		for _, parts := range lists {
			for k := range parts {
				if r.Target.Takes(&parts[k]) && matches(&parts[k]) {
					return true
				}
			}
		}
	}
	return false
}

// anyBlock reports whether one of the blocks of replies that were sent matches.
func (r *Refused) anyBlock(matches func(*transcript.Block) bool) bool {
	return slices.ContainsFunc(r.Request.Messages, func(m transcript.Message) bool {
		return slices.ContainsFunc(m.Blocks, func(b transcript.Block) bool { return r.Target.Made(&b) && matches(&b) })
	})
}

func hasTool(tools []transcript.ToolDef, name string) bool {
	return slices.ContainsFunc(tools, func(t transcript.ToolDef) bool { return t.Name == name })
}
