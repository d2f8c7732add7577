package handoff

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// RepairKind says what a [Repair] leaves out.
type RepairKind string

// The kinds of repairs.
const (
	// RepairTokens strips the continuity tokens, and all that is bound to them.
	RepairTokens RepairKind = "tokens"
	// RepairOpaque leaves out blocks that only the provider understands: those of the
	// kind Name, also in later messages, or all of them.
	RepairOpaque RepairKind = "opaque"
	// RepairMedia puts a text in the place of the image or file whose [PartDigest] is
	// Name, of all of them without one.
	RepairMedia RepairKind = "media"
	// RepairTool does not offer the tool Name.
	RepairTool RepairKind = "tool"
	// RepairParameter does not send the parameter Name.
	RepairParameter RepairKind = "parameter"
	// RepairMessages leaves out what the user said, and the content of tool results.
	RepairMessages RepairKind = "messages"
)

// Repair is what is left out since a provider refused a request for its form. It holds
// for the messages from index From up to, but not including, Through, and for requests
// to that provider and account.
type Repair struct {
	Kind     RepairKind `json:"kind"`
	Provider string     `json:"provider"`
	Account  string     `json:"account,omitempty"`
	// Model is set for a parameter: another model may take it.
	Model   string `json:"model,omitempty"`
	Name    string `json:"name,omitempty"`
	From    int    `json:"from"`
	Through int    `json:"through"`
}

// AppliesTo reports whether requests to t are repaired so.
func (r *Repair) AppliesTo(t Target) bool {
	return r.Provider == t.Provider && SameAccount(r.Account, t.Account) && (r.Model == "" || r.Model == t.Model.Model)
}

func (r *Repair) coversMessage(message int) bool { return r.From <= message && message < r.Through }

// PartDigest names the content of an image or file.
func PartDigest(p *transcript.Part) string {
	sum := sha256.Sum256(append([]byte(p.URL+"\x00"), p.Data...))
	return hex.EncodeToString(sum[:])
}

// repaired returns the repairs of a kind that apply to the target.
func (b *builder) repaired(kind RepairKind) (list []Repair) {
	for i := range b.history.Repairs {
		if r := &b.history.Repairs[i]; r.Kind == kind && r.AppliesTo(b.target) {
			list = append(list, *r)
		}
	}
	return list
}

// stripRefusedTokens treats a reply as foreign whose tokens the provider has refused.
func (r *reply) stripRefusedTokens() {
	for _, repair := range r.repaired(RepairTokens) {
		if !repair.coversMessage(r.at) {
			continue
		}
		for i := range r.Blocks {
			if !r.decisions[i].isForeign && r.target.Made(&r.Blocks[i]) {
				r.makeForeign(
					i, ruleRefusedToken, r.target.Provider+" refused the tokens of the conversation up to here",
				)
			}
		}
	}
}

// dropRefusedBlocks leaves out the opaque blocks that the provider has refused.
func (r *reply) dropRefusedBlocks() {
	for _, repair := range r.repaired(RepairOpaque) {
		if repair.Name == "" && !repair.coversMessage(r.at) {
			continue // a kind that was refused is refused in later replies, too
		}
		r.eachKept(transcript.BlockOpaque, func(i int, b *transcript.Block) {
			if repair.Name == "" || repair.Name == b.Kind {
				r.decide(i, drop, ruleRefusedBlock, r.target.Provider+" refused its "+b.Kind+" blocks")
			}
		})
	}
}

// leaveOutRefused returns the messages without the media and texts that the provider
// has refused.
func (b *builder) leaveOutRefused(messages []placed) []placed {
	media, texts := b.repaired(RepairMedia), b.repaired(RepairMessages)
	if media == nil && texts == nil {
		return messages
	}
	out := make([]placed, 0, len(messages))
	for _, m := range messages {
		if slices.ContainsFunc(texts, func(r Repair) bool { return r.coversMessage(m.at) }) {
			if m.Role == transcript.RoleUser {
				b.degrade(ruleRefusedMessage, m.at, -1, "", b.target.Provider+" refused the request that it came with")
				continue
			}
			m = b.withoutContents(m)
		}
		out = append(out, b.withoutMedia(m, media))
	}
	return out
}

// refusedResult stands for the content of a result that the provider refused.
const refusedResult = "(left out: the provider refused this result)"

// withoutContents returns a message of results with nothing in them.
func (b *builder) withoutContents(m placed) placed {
	if m.Role != transcript.RoleToolResults {
		return m
	}
	m.Results = slices.Clone(m.Results)
	for i := range m.Results {
		m.Results[i].Content, m.Results[i].Parts, m.Results[i].IsError = refusedResult, nil, true
		b.degrade(
			ruleRefusedMessage, m.at, i, m.Results[i].ToolUseID,
			b.target.Provider+" refused the request that it came with",
		)
	}
	return m
}

// withoutMedia returns a message without the parts that one of the repairs names.
func (b *builder) withoutMedia(m placed, repairs []Repair) placed {
	isRefused := func(p *transcript.Part) bool {
		return slices.ContainsFunc(repairs, func(r Repair) bool {
			return r.coversMessage(m.at) && (r.Name == "" || r.Name == PartDigest(p))
		})
	}
	m.Content, m.Parts = b.cutParts(m, -1, "", m.Content, m.Parts, isRefused)
	for i := range m.Results {
		r := &m.Results[i]
		if !slices.ContainsFunc(r.Parts, func(p transcript.Part) bool { return isRefused(&p) }) {
			continue
		}
		m.Results = slices.Clone(m.Results)
		r = &m.Results[i]
		r.Content, r.Parts = b.cutParts(m, i, r.ToolUseID, r.Content, r.Parts, isRefused)
	}
	return m
}

// cutParts takes parts out of a message or of one of its results; a text says so.
func (b *builder) cutParts(m placed, result int, callID, text string, parts []transcript.Part,
	isRefused func(*transcript.Part) bool) (string, []transcript.Part) {
	var kept []transcript.Part
	for k := range parts {
		if !isRefused(&parts[k]) {
			kept = append(kept, parts[k])
			continue
		}
		at := result
		if at < 0 {
			at = k
		}
		b.degrade(
			ruleRefusedMedia, m.at, at, callID,
			b.target.Provider+" refused it; in its place stands "+Omitted(&parts[k]),
		)
		text = strings.TrimPrefix(text+"\n"+Omitted(&parts[k]), "\n")
	}
	if len(kept) == len(parts) {
		return text, parts
	}
	return text, kept
}
