package evidence

import (
	"fmt"
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

// Join returns the recordings, in the order given, as one: the first began a session,
// and each later one is of processes that resumed it. Exchanges are counted on from
// one recording to the next. Whatever a recording says of its own processes is kept.
// The result shares memory with the recordings; name is its path.
func Join(name string, recordings []Recording) Recording {
	all := Recording{Path: name, Evidence: Evidence{Source: SourceRecording, Case: name}}
	offset := 0
	for i, r := range recordings {
		if all.Format == "" {
			all.Format = r.Format
		}
		first := len(all.Evidence.Process)
		for _, x := range r.Evidence.Exchanges {
			x.Index += offset
			x.Process = first + max(x.Process, 0)
			all.Evidence.Exchanges = append(all.Evidence.Exchanges, x)
		}
		for _, s := range r.Skipped {
			s.Exchange += offset
			all.Skipped = append(all.Skipped, s)
		}
		processes := slices.Clone(r.Evidence.Process)
		if len(processes) == 0 {
			processes = []Process{{ExitCode: -1}}
		}
		processes[0].Resumed = processes[0].Resumed || i > 0
		all.Evidence.Process = append(all.Evidence.Process, processes...)
		offset += r.count()
	}
	return all
}

// count returns how many exchanges the file of r holds, judged or not.
func (r Recording) count() int { return len(r.Evidence.Exchanges) + len(r.Skipped) }

// MarkResume says that at each of the exchanges, counted from 0 in the file, a new
// process begins and resumes the session. It replaces what the recording says of its
// processes. The error says which exchange is not in the recording.
func (r *Recording) MarkResume(at []int) error {
	borders := slices.Clone(at)
	slices.Sort(borders)
	borders = slices.Compact(borders)
	for _, n := range borders {
		if last := r.count() - 1; n < 1 || n > last {
			return fmt.Errorf("%s: no process can be resumed at exchange %d; name one from 1 to %d", r.Path, n, last)
		}
	}
	r.Evidence.Process = slices.Repeat([]Process{{ExitCode: -1, Resumed: true}}, len(borders)+1)
	r.Evidence.Process[0].Resumed = false
	for i := range r.Evidence.Exchanges {
		x := &r.Evidence.Exchanges[i]
		before := func(n int) bool { return n > x.Index }
		if x.Process = slices.IndexFunc(borders, before); x.Process < 0 {
			x.Process = len(borders)
		}
	}
	return nil
}
