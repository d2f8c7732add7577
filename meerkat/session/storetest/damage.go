package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Lines reads and replaces the stored lines of a session behind the back of its
// store, as a failing disk or a careless person does.
type Lines interface {
	Read(t *testing.T, id session.ID) []byte
	Replace(t *testing.T, id session.ID, lines []byte)
}

// RunDamage damages a stored session in about a thousand ways, at random places
// that are the same in each run: bits, blocks, and lines that are lost, repeated,
// swapped or cut off. Each damaged session must be refused, or be the session as
// it was after some record: a shorter one that is whole. open returns an empty
// store and access to what it holds.
func RunDamage(t *testing.T, open func(t *testing.T) (session.Store, Lines)) {
	t.Helper()
	store, lines := open(t)
	records, id := damageRecords(), numberedHeader(1).ID
	w, err := store.Create(ctx, numberedHeader(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		err = errors.Join(err, w.Append(ctx, r))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	whole, states := lines.Read(t, id), statesOf(t, records)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a seeded sample, no secret
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			for range d.times {
				bad := d.change(random, bytes.Clone(whole))
				lines.Replace(t, id, bad)
				if err := checkDamaged(store, states, d.detected && !bytes.Equal(bad, whole)); err != nil {
					t.Fatalf("%v\nstored:\n%.2000q", err, bad)
				}
			}
		})
	}
}

// damageRecords are a few turns of a conversation: short lines, so that every kind
// of record is hit, and lines that are alike, so that only their order tells them
// apart.
func damageRecords() []session.Record {
	records := allRecordKinds()
	for i, r := range records {
		if m, ok := r.(session.MessageRecord); ok && m.Message.Role == transcript.RoleToolResults {
			m.Message = transcript.ToolResults(transcript.ToolResult{ToolUseID: "toolu_1", Content: "\xff line"})
			records[i] = m
		}
	}
	for range 4 {
		records = append(records, userMessage("again"), session.Checkpoint{At: epoch, Reason: session.ReasonPrompt},
			session.MessageRecord{
				At: epoch, Message: transcript.Assistant(transcript.StopEndTurn, transcript.Text("yes")),
			},
			session.Checkpoint{At: epoch, Reason: session.ReasonAssistant})
	}
	return records
}

// statesOf returns what session 1 was after each record.
func statesOf(t *testing.T, records []session.Record) []session.Session {
	t.Helper()
	s, err := session.Load(numberedHeader(1))
	states := []session.Session{s}
	for _, r := range records {
		if err != nil {
			t.Fatal(err)
		}
		s, err = s.With(r)
		states = append(states, s)
	}
	return states
}

// checkDamaged returns an error if the damage of session 1 is overlooked: if it is
// loaded although it must be refused, or as something that it never was.
func checkDamaged(store session.Store, states []session.Session, detected bool) error {
	got, err := store.Load(ctx, numberedHeader(1).ID)
	var corrupt *session.CorruptError
	var version *session.VersionError
	switch {
	case errors.As(err, &corrupt), errors.As(err, &version), errors.Is(err, session.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("Load: %w; want a *CorruptError", err)
	case detected:
		return errors.New("the damage was not noticed")
	}
	for _, was := range states {
		if len(was.Timeline) == len(got.Timeline) && was.Checkpoint == got.Checkpoint &&
			cmp.Equal(was, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(session.Session{})) {
			return nil
		}
	}
	return errors.New("a session was loaded that never was")
}

// damages are the ways in which stored lines get damaged. Each is detected, or
// leaves the session as it was after some record.
var damages = []struct {
	name     string
	times    int
	detected bool
	change   func(r *rand.Rand, data []byte) []byte
}{
	{"a bit is flipped", 400, false, func(r *rand.Rand, data []byte) []byte {
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		return data
	}},
	{"a block is overwritten with zeros", 100, false, func(r *rand.Rand, data []byte) []byte {
		at := r.IntN(len(data))
		clear(data[at:min(at+1<<r.IntN(10), len(data))])
		return data
	}},
	{"a block is lost", 100, false, func(r *rand.Rand, data []byte) []byte {
		at := r.IntN(len(data))
		return slices.Delete(data, at, min(at+1<<r.IntN(10), len(data)))
	}},
	{"a block is repeated", 100, false, func(r *rand.Rand, data []byte) []byte {
		at := r.IntN(len(data))
		return slices.Insert(data, at, bytes.Clone(data[at:min(at+1<<r.IntN(10), len(data))])...)
	}},
	{"the end is cut off", 100, false, func(r *rand.Rand, data []byte) []byte { return data[:r.IntN(len(data))] }},
	{"a line is lost", 60, true, func(r *rand.Rand, data []byte) []byte {
		return editLines(
			data, func(l [][]byte) [][]byte { at := r.IntN(len(l) - 1); return slices.Delete(l, at, at+1) },
		)
	}},
	{"a line is repeated", 60, true, func(r *rand.Rand, data []byte) []byte {
		return editLines(data, func(l [][]byte) [][]byte { at := r.IntN(len(l)); return slices.Insert(l, at, l[at]) })
	}},
	{"a line is repeated elsewhere", 60, true, func(r *rand.Rand, data []byte) []byte {
		return editLines(
			data, func(l [][]byte) [][]byte { return slices.Insert(l, 1+r.IntN(len(l)), l[r.IntN(len(l))]) },
		)
	}},
	{"two lines are swapped", 60, true, func(r *rand.Rand, data []byte) []byte {
		return editLines(data, func(l [][]byte) [][]byte {
			i, j := r.IntN(len(l)), r.IntN(len(l))
			l[i], l[j] = l[j], l[i]
			return l
		})
	}},
	{"a line is cut short", 60, false, func(r *rand.Rand, data []byte) []byte {
		return editLines(data, func(l [][]byte) [][]byte {
			i := r.IntN(len(l))
			l[i] = append(bytes.Clone(l[i][:r.IntN(len(l[i]))]), '\n')
			return l
		})
	}},
}

// editLines applies edit to the lines of data, each with its newline.
func editLines(data []byte, edit func([][]byte) [][]byte) []byte {
	return slices.Concat(edit(slices.Collect(bytes.Lines(data)))...)
}
