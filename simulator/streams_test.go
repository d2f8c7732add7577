package simulator

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var streamsFile = filepath.Join("..", "docs", "simulator-streams.md")

// report compares the simulator's answers with the recorded ones.
type report struct {
	bytes.Buffer
	t        *testing.T
	provider string
	all      *statistics // all recorded
	now      *statistics // those of the API as it is now
	our      *statistics
}

// rare is the share of recent events below which a key need not be ours.
const rare = 0.05

// TestStreams holds that what the simulator sends is shaped like what the
// providers send, as far as it is recorded: every difference is explained.
func TestStreams(t *testing.T) {
	recorded, own := recordings(t), ours(t)
	var out bytes.Buffer
	out.WriteString(streamsHead)
	for _, provider := range schematised() {
		r := &report{t: t, provider: provider,
			all: measured(recorded, provider, func(sample) bool { return true }),
			now: measured(recorded, provider, func(s sample) bool { return s.recent }),
			our: measured(own, provider, func(sample) bool { return true }),
		}
		r.write()
		out.Write(r.Bytes())
	}
	for _, e := range explanations {
		if !e.used {
			t.Errorf("nothing needs the explanation of %s %s %q", e.provider, e.what, e.pattern)
		}
	}
	if *update {
		if err := os.WriteFile(streamsFile, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is, err := os.ReadFile(streamsFile); err != nil || !bytes.Equal(is, out.Bytes()) {
		t.Errorf("docs/simulator-streams.md is not what the streams say (%v); run this test with -update", err)
	}
}

const streamsHead = `# The simulator's answers beside recorded ones

Generated: ` + "`go test ./simulator -run TestStreams -update`" + `, which needs the corpus of recorded
traffic; the test skips where it is absent. Recorded are the answers of the providers'
own APIs with status 200 and their headers; **recent** those dated from April 2026 on.
Ours are the answers to every turn of every scenario in every form, and conversations
without a script with several models of each provider.

A key, a step, a kind of value or a header that only one side has is listed with its
reason, and the test fails for one that has none. Keys that stand in fewer than 5 % of
the recent events of their type, and events that are not ours, need no reason.
`

func (r *report) line(format string, args ...any) { fmt.Fprintf(r, format+"\n", args...) }

func (r *report) write() {
	r.line("\n## %s\n", r.provider)
	r.line("%d streams and %d documents recorded, of which %d and %d recent; %d and %d ours.\n",
		r.all.answers[0], r.all.answers[1], r.now.answers[0], r.now.answers[1], r.our.answers[0], r.our.answers[1])
	r.events()
	r.keys()
	r.kinds()
	r.steps()
	r.idents()
	r.tokens()
	r.lengths()
	r.heads()
}

func (r *report) events() {
	r.line("| event | recorded | recent | ours | keys recent | keys ours | in both |\n|---|---|---|---|---|---|---|")
	foreign := []string{}
	for _, label := range names(r.all.events) {
		all, now, our := r.all.events[label], r.now.events[label], r.our.events[label]
		if our == nil {
			foreign = append(foreign, fmt.Sprintf("%s (%d)", label, all.count))
			continue
		}
		recent, keys, both := 0, 0, 0
		if now != nil {
			recent, keys = now.count, len(now.keys)
			for k := range now.keys {
				if our.keys[k] > 0 {
					both++
				}
			}
		}
		r.line("| %s | %d | %d | %d | %d | %d | %d |", label, all.count, recent, our.count, keys, len(our.keys), both)
	}
	if len(foreign) > 0 {
		r.line("\nRecorded, never ours: %s.", strings.Join(foreign, ", "))
	}
	unseen := []string{}
	for _, label := range names(r.our.events) {
		if r.all.events[label] == nil {
			unseen = append(unseen, r.explained("event", label))
		}
	}
	r.list("Ours, never recorded", unseen)
}

func (r *report) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	r.line("\n%s:\n", title)
	for _, item := range slices.Compact(items) {
		r.line("- %s", item)
	}
}

// keys lists the keys that only one side sends.
func (r *report) keys() {
	missing, extra := map[string][]string{}, map[string][]string{}
	for _, label := range names(r.our.events) {
		our, all, now := r.our.events[label], r.all.events[label], r.now.events[label]
		if all == nil {
			continue
		}
		if now == nil {
			now = all
		}
		for _, k := range names(now.keys) {
			if our.keys[k] == 0 && now.keys[k] > 1 && float64(now.keys[k]) >= rare*float64(now.count) {
				missing[k] = append(missing[k], fmt.Sprintf("%s %d of %d", label, now.keys[k], now.count))
			}
		}
		for _, k := range names(our.keys) {
			if all.keys[k] == 0 {
				extra[k] = append(extra[k], label)
			}
		}
	}
	r.both("missing", "Keys that recent answers have and ours never", missing)
	r.both("extra", "Keys that ours have and no recorded one", extra)
}

// both lists what deviates, with where and why.
func (r *report) both(what, title string, found map[string][]string) {
	reasons := map[string][]string{}
	for _, k := range names(found) {
		reason := r.reason(what, k)
		reasons[reason] = append(reasons[reason],
			fmt.Sprintf("`%s` (%s)", k, strings.Join(found[k][:min(2, len(found[k]))], "; ")))
	}
	var items []string
	for _, reason := range names(reasons) {
		items = append(items, fmt.Sprintf("%s %s", sentence(reason), strings.Join(reasons[reason], ", ")))
	}
	r.list(title, items)
}

func sentence(s string) string { return "**" + s + "**" }

// kinds lists values of a kind that no recorded one has.
func (r *report) kinds() {
	found := map[string][]string{}
	for _, label := range names(r.our.events) {
		all := r.all.events[label]
		if all == nil {
			continue
		}
		for _, k := range names(r.our.events[label].kinds) {
			for _, kind := range names(r.our.events[label].kinds[k]) {
				if all.keys[k] > 0 && !all.kinds[k][kind] {
					found[k+" is "+kind] = append(found[k+" is "+kind], label)
				}
			}
		}
	}
	r.both("kind", "Values of a kind that is not recorded", found)
}

// steps lists which event follows which.
func (r *report) steps() {
	missing, extra := map[string][]string{}, map[string][]string{}
	same := 0
	for step, n := range r.now.follows {
		name := step[0] + " → " + step[1]
		switch {
		case r.our.follows[step] > 0:
			same++
		case n > 1 && float64(n) >= rare*float64(r.now.from[step[0]]) && r.our.from[step[0]] > 0:
			missing[name] = append(missing[name], fmt.Sprintf("%d of %d", n, r.now.from[step[0]]))
		}
	}
	for step, n := range r.our.follows {
		if r.all.follows[step] == 0 {
			name := step[0] + " → " + step[1]
			extra[name] = append(extra[name], fmt.Sprintf("%d of %d", n, r.our.from[step[0]]))
		}
	}
	r.line("\nSteps from one event to the next: %d kinds recent, %d of them ours.", len(r.now.follows), same)
	r.both("step", "Steps that recent streams take and ours never", missing)
	r.both("new step", "Steps that ours take and no recorded one", extra)
}

func (r *report) idents() {
	r.line("\n| id | recorded (most first) | ours |\n|---|---|---|")
	for _, field := range names(r.our.ids) {
		recorded := r.all.ids[field]
		for shape, our := range r.our.ids[field] {
			same, known := recorded[shape]
			if recorded != nil && (!known || !covers(same.chars, our.chars)) {
				r.t.Errorf("%s: ids of %s are %s in %s; recorded are %s", r.provider, field, shape, alphabet(our.chars),
					shapes(recorded))
			}
		}
		r.line("| %s | %s | %s |", field, shapes(recorded), shapes(r.our.ids[field]))
	}
}

// covers reports whether the alphabet of ours is that of the recorded, or a
// smaller one.
func covers(recorded, our map[rune]bool) bool {
	order := []string{"hex", "base36", "base62", "base64", "base64url", "other"}
	a, b := alphabet(recorded), alphabet(our)
	return slices.Index(order, b) <= slices.Index(order, a) && (a != "base64url" || b != "base64")
}

func shapes(ids map[string]*idShape) string {
	if len(ids) == 0 {
		return "—"
	}
	order := names(ids)
	slices.SortStableFunc(order, func(a, b string) int { return ids[b].count - ids[a].count })
	var all []string
	for _, shape := range order[:min(3, len(order))] {
		all = append(all, fmt.Sprintf("`%s` %s (%d)", strings.TrimSpace(shape), alphabet(ids[shape].chars),
			ids[shape].count))
	}
	return strings.Join(all, ", ")
}

func (r *report) tokens() {
	if len(r.our.seals) == 0 {
		return
	}
	r.line("\n| token | recorded: length least, median, most | begins | alphabet | ours: length | begins | alphabet |\n|---|---|---|---|---|---|---|")
	for _, field := range names(r.our.seals) {
		our, all := r.our.seals[field], r.all.seals[field]
		if all == nil {
			r.line("| %s | — | — | — | %s | %s | %s |", field, spread(our.lengths), common(our.prefixes),
				alphabet(our.chars))
			continue
		}
		r.line("| %s | %s | %s | %s | %s | %s | %s |", field, spread(all.lengths), common(all.prefixes),
			alphabet(all.chars), spread(our.lengths), common(our.prefixes), alphabet(our.chars))
		if slices.Min(our.lengths) < slices.Min(all.lengths) || slices.Max(our.lengths) > slices.Max(all.lengths) {
			r.explained("token", field+" is of another length")
		}
		for prefix := range our.prefixes {
			if all.prefixes[prefix] == 0 {
				r.t.Errorf("%s: %s begins with %s; recorded: %s", r.provider, field, prefix, common(all.prefixes))
			}
		}
		if !covers(all.chars, our.chars) {
			r.t.Errorf("%s: %s is in %s, recorded in %s", r.provider, field, alphabet(our.chars), alphabet(all.chars))
		}
	}
}

func spread(n []int) string {
	return fmt.Sprintf("%d, %d, %d", slices.Min(n), quantile(n, 0.5), slices.Max(n))
}

// common are the most frequent keys.
func common(m map[string]int) string {
	order := names(m)
	slices.SortStableFunc(order, func(a, b string) int { return m[b] - m[a] })
	return "`" + strings.Join(order[:min(4, len(order))], "` `") + "`"
}

func (r *report) lengths() {
	r.line("\n| deltas | recorded: characters median, 90 %% | in a block median, 90 %% | ours: characters | in a block |\n|---|---|---|---|---|")
	for _, kind := range names(r.our.sizes) {
		two := func(n []int) string { return fmt.Sprintf("%d, %d", quantile(n, 0.5), quantile(n, 0.9)) }
		all := r.all.sizes[kind]
		r.line("| %s | %s | %s | %s | %s |", kind, two(all), two(r.all.deltas[kind]), two(r.our.sizes[kind]),
			two(r.our.deltas[kind]))
		if our := quantile(r.our.sizes[kind], 0.5); all != nil &&
			(our < quantile(all, 0.02) || our > quantile(all, 0.98)) {
			r.explained("delta", kind)
		}
	}
}

func (r *report) heads() {
	missing, extra := map[string][]string{}, map[string][]string{}
	same := 0
	for _, name := range names(r.now.headers) {
		n := r.now.headers[name]
		switch {
		case r.our.headers[name] > 0:
			same++
		case n > 1 && float64(n) >= rare*float64(r.now.headed):
			missing[name] = append(missing[name], fmt.Sprintf("%d of %d", n, r.now.headed))
		}
	}
	for _, name := range names(r.our.headers) {
		if r.all.headers[name] == 0 {
			extra[name] = append(extra[name], fmt.Sprintf("%d of %d", r.our.headers[name], r.our.headed))
		}
	}
	r.line("\nHeaders: %d names recent, %d of them ours.", len(r.now.headers), same)
	r.both("header", "Headers that recent answers have and ours never", missing)
	r.both("new header", "Headers that ours have and no recorded one", extra)
}
