package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Live is what a run against the providers themselves cost, and who answered. It is
// plain data.
type Live struct {
	Requests int `json:"requests"`
	// Tokens are all tokens as the replies report them; Estimated is how many of them no
	// reply has reported.
	Tokens    int `json:"tokens"`
	Estimated int `json:"estimated_tokens,omitempty"`
	// Cost is in Currency, both from the prices that the user gave.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
	// Models are the models that the cases asked for, by provider.
	Models map[string][]string `json:"models,omitempty"`
	// StandIns are the addresses that answered in a provider's place, by provider. What
	// they answer says nothing about the provider.
	StandIns map[string]string `json:"stand_ins,omitempty"`
}

// addLive is both together.
func (l *Live) addLive(m *Live) *Live {
	if l == nil || m == nil {
		if l == nil {
			return m
		}
		return l
	}
	sum := *l
	sum.Requests, sum.Tokens, sum.Estimated, sum.Cost = l.Requests+m.Requests, l.Tokens+m.Tokens, l.Estimated+m.Estimated, l.Cost+m.Cost
	sum.Models, sum.StandIns = maps.Clone(l.Models), maps.Clone(l.StandIns)
	if sum.Models == nil {
		sum.Models = map[string][]string{}
	}
	if sum.StandIns == nil {
		sum.StandIns = map[string]string{}
	}
	maps.Copy(sum.Models, m.Models)
	maps.Copy(sum.StandIns, m.StandIns)
	return &sum
}

// liveNotes are the sentences of a report about l, which may be nil.
func (l *Live) liveNotes() (list []string) {
	if l == nil {
		return nil
	}
	text := fmt.Sprintf("spent: %s, %s", countOf(l.Requests, "request"), countOf(l.Tokens, "token"))
	if l.Estimated > 0 {
		text += fmt.Sprintf(" (%d of them estimated)", l.Estimated)
	}
	if l.Currency != "" {
		text += strings.TrimRight(fmt.Sprintf(", %.4f %s", l.Cost, l.Currency), " ")
	}
	list = append(list, text)
	for _, provider := range slices.Sorted(maps.Keys(l.StandIns)) {
		list = append(list, fmt.Sprintf("stand-in: %s answered in the place of %s; this says nothing about the provider", l.StandIns[provider], provider))
	}
	return list
}
