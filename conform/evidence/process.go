package evidence

import (
	"slices"

	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// addProcesses numbers the processes of a recording that says which process sent each
// request. Where one request does not say, no process is known: a border may be
// anywhere.
func (ev *Evidence) addProcesses(all []cassette.Interaction) {
	var ordinals []int
	for i := range ev.Exchanges {
		ordinals = append(ordinals, all[ev.Exchanges[i].Index].Process)
	}
	if len(ordinals) == 0 || slices.Contains(ordinals, 0) {
		return
	}
	known := slices.Clone(ordinals)
	slices.Sort(known)
	known = slices.Compact(known)
	for i := range ev.Exchanges {
		ev.Exchanges[i].Process = slices.Index(known, ordinals[i])
	}
	ev.Process = make([]Process, len(known))
	ev.noteResumed()
}

// noteResumed sets Resumed for each process that sends back what an earlier process
// was answered.
func (ev *Evidence) noteResumed() {
	if len(ev.Process) < 2 {
		return
	}
	issued := map[string]int{} // the first process that got the text, token or id
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		for _, said := range spokenIn(wire.ReadReply(x.Provider, x.Response.Status, x.Response.Body).Items) {
			if first, ok := issued[said]; !ok || x.Process < first {
				issued[said] = x.Process
			}
		}
	}
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		for _, said := range spokenIn(wire.ReadRequest(x.Provider, x.Request.Method, x.Request.URL, x.Request.Body).Items) {
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
