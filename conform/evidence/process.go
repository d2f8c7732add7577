package evidence

import (
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/wires/wire"
)

// addProcesses numbers the processes of a recording that says which process sent each
// request. Requests of which it does not say that, as older recorders did not, are of
// no process; they are earlier than those that were recorded behind them.
func (ev *Evidence) addProcesses(all []cassette.Interaction) {
	var known []int
	for i := range ev.Exchanges {
		if n := all[ev.Exchanges[i].Index].Process; n > 0 {
			known = append(known, n)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for i := range ev.Exchanges {
		ev.Exchanges[i].Process = slices.Index(known, all[ev.Exchanges[i].Index].Process)
	}
	if len(known) > 0 {
		ev.Process = slices.Repeat([]Process{{ExitCode: -1}}, len(known))
		ev.noteResumed()
	}
}

// noteResumed sets Resumed for each process that sends back what an earlier process
// was answered.
func (ev *Evidence) noteResumed() {
	other := func(x Exchange) bool { return x.Process != ev.Exchanges[0].Process }
	if !slices.ContainsFunc(ev.Exchanges, other) {
		return
	}
	issued := map[string]int{} // the first process that got the text, token or id
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		for _, said := range spokenIn(x.ReadReply().Items) {
			if first, ok := issued[said]; !ok || x.Process < first {
				issued[said] = x.Process
			}
		}
	}
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		for _, said := range spokenIn(x.ReadRequest().Items) {
			if first, ok := issued[said]; ok && first < x.Process {
				ev.Process[x.Process].Resumed = true
			}
		}
	}
}

// shortestText is the length in bytes of the shortest text that shows where it came
// from. Shorter ones are said again by chance.
const shortestText = 16

// spokenIn returns what identifies the model's items: tokens, ids and texts.
func spokenIn(items []wire.Item) (list []string) {
	for i := range items {
		it := &items[i]
		if !it.Model() {
			continue
		}
		for _, said := range []string{it.Token, it.ID, it.ItemID, it.Text} {
			if len(said) >= shortestText {
				list = append(list, said)
			}
		}
	}
	return list
}
