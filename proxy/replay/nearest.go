package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// candidate is a recorded request, how it differs from the incoming one in what
// the configured level counts, and the share of that which is the same, from 0
// to 1.
type candidate struct {
	at      int
	form    form // without volatile fields
	counted form // what of it counts
	changes []change
	same    float64
	played  bool
}

// The search for the nearest request is bounded: by how many requests it looks
// at, half of them those that come next and half those nearest in length, and
// by how many bytes they have in all.
const (
	maxCandidates     = 64
	maxCompared       = 16 << 20
	maxElsewhere      = 3
	maxMissesSearched = 50
)

// nearestCandidate finds the recorded request that is most similar to the
// incoming one, among those with the same method and URL. It holds no lock
// (pitfall V9).
func (p *Replayer) nearestCandidate(asked form, s snapshot) (best candidate, ok bool) {
	compared, counted := 0, asked.reduceTo(p.cfg.Match)
	for _, at := range s.candidateIndexes(asked.method+" "+asked.url, len(asked.body), func(int) bool { return true }) {
		if compared += s.places[at].size + len(asked.body); compared > maxCompared && ok {
			break
		}
		r, err := p.cfg.Cassette.Request(at)
		if err != nil {
			continue
		}
		c := candidate{at: at, form: formOf(r).withoutVolatile(p.rules), played: !s.state[at].isFree()}
		c.counted = c.form.reduceTo(p.cfg.Match)
		c.same = similarity(c.counted, counted)
		if !ok || c.isNearer(best) {
			best, ok = c, true
		}
	}
	if ok {
		if r, err := p.cfg.Cassette.Request(best.at); err == nil {
			best.form = formOf(p.shownRequest(r)).withoutVolatile(p.rules)
			best.counted = best.form.reduceTo(p.cfg.Match)
			best.same = similarity(best.counted, counted)
		}
		best.changes = diffForPeople(best.counted.body, counted.body)
	}
	return best, ok
}

// isNearer ranks candidates: the more similar first, then the unplayed, then the
// earlier.
func (c candidate) isNearer(than candidate) bool {
	return cmp.Or(cmp.Compare(c.same, than.same), compareUnplayed(c.played, than.played),
		cmp.Compare(than.at, c.at)) > 0
}

func compareUnplayed(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// candidateIndexes returns the interactions with a request to where that are
// worth comparing with a request of this size, of those that isWanted.
func (s snapshot) candidateIndexes(where string, size int, isWanted func(at int) bool) []int {
	var next, all []int
	for at, place := range s.places {
		if place.url < 0 || s.urls[place.url] != where || !isWanted(at) {
			continue
		}
		all = append(all, at)
		if s.state[at].isFree() && len(next) < maxCandidates/2 {
			next = append(next, at)
		}
	}
	distance := func(at int) int { return max(s.places[at].size-size, size-s.places[at].size) }
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	for _, at := range all {
		if len(next) == maxCandidates {
			break
		}
		if !slices.Contains(next, at) {
			next = append(next, at)
		}
	}
	return next
}

// otherURLs names where the recorded requests went, when none went to the URL of
// the incoming request.
func (s snapshot) otherURLs() string {
	count := map[int]int{}
	for _, place := range s.places {
		if place.url >= 0 {
			count[place.url]++
		}
	}
	urls := slices.SortedFunc(maps.Keys(count), func(a, b int) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	var names []string
	for _, url := range urls[:min(len(urls), maxElsewhere)] {
		names = append(names, s.urls[url])
	}
	if len(urls) > maxElsewhere {
		names = append(names, "and others")
	}
	return strings.Join(names, ", ")
}

// similarity returns the share of two bodies that is the same, from 0 to 1.
func similarity(a, b form) float64 {
	x, errX := decodeJSON(a.body)
	y, errY := decodeJSON(b.body)
	if errX != nil || errY != nil {
		x, y = string(a.body), string(b.body)
	}
	same, all := sharedWeight(x, y)
	return float64(same) / float64(max(all, 1))
}

// sharedWeight returns how much two values have in common and how much there is
// in total, in bytes of text. Of two texts it counts the common beginning and
// end.
func sharedWeight(a, b any) (same, all int) {
	same, all = 1, 1 // that both are objects, or arrays
	add := func(a, b any) {
		s, n := sharedWeight(a, b)
		same, all = same+s, all+n
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			for name, v := range x {
				if w, both := y[name]; both {
					add(name, name)
					add(v, w)
				} else {
					all += len(name) + textWeight(v)
				}
			}
			for name, v := range y {
				if _, both := x[name]; !both {
					all += len(name) + textWeight(v)
				}
			}
			return same, all
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				add(elementOf(x, i), elementOf(y, i))
			}
			return same, all
		}
	case string:
		if y, ok := b.(string); ok {
			return commonLength(x, y) + 1, max(len(x), len(y)) + 1
		}
	}
	if n := textWeight(a); isScalar(a) && a == b {
		return n, n
	}
	return 0, textWeight(a) + textWeight(b)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// textWeight returns how many bytes of text a value has, plus one for each
// value.
func textWeight(v any) int {
	n := 1
	switch x := v.(type) {
	case absent:
		return 0
	case string:
		n += len(x)
	case []any:
		for _, e := range x {
			n += textWeight(e)
		}
	case map[string]any:
		for name, e := range x {
			n += len(name) + textWeight(e)
		}
	}
	return n
}

// commonLength returns the length of the beginning and the end that two texts
// share.
func commonLength(a, b string) int {
	n := commonPrefix(a, b)
	a, b = a[n:], b[n:]
	most := min(len(a), len(b))
	for i := 1; i <= most; i++ {
		if a[len(a)-i] != b[len(b)-i] {
			return n + i - 1
		}
	}
	return n + most
}

func commonPrefix(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// change is one difference between two JSON values. Old or New is "" when that
// value has nothing at Path; otherwise it is JSON.
type change struct{ Path, Old, New string }

// maxChanges bounds the differences that are listed: two requests with more have little in
// common.
const maxChanges = 64

// diffJSON lists where two bodies differ, objects by member and arrays by index, in a fixed
// order and at most maxChanges places. Bodies that are not JSON differ as a whole.
func diffJSON(old, new []byte) []change {
	a, errA := decodeJSON(old)
	b, errB := decodeJSON(new)
	if errA != nil || errB != nil {
		if bytes.Equal(old, new) {
			return nil
		}
		return []change{{"", string(old), string(new)}}
	}
	var d differ
	d.compareValues("", a, b)
	return d
}

// absent marks the side of a change that has no value there.
type absent struct{}

var errMore = errors.New("more than one JSON value")

func decodeJSON(data []byte) (any, error) {
	if len(data) == 0 {
		return absent{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errMore
	}
	return v, nil
}

type differ []change

func (d *differ) compareValues(path string, a, b any) {
	if len(*d) >= maxChanges {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.compareObjects(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.compareArrays(path, x, y)
			return
		}
	default:
		if _, nested := b.(map[string]any); nested {
			break
		}
		if _, nested := b.([]any); nested {
			break
		}
		if a == b {
			return
		}
	}
	*d = append(*d, change{path, encodeJSON(a), encodeJSON(b)})
}

func (d *differ) compareObjects(path string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	if path != "" {
		path += "."
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.compareValues(path+name, memberOf(a, name), memberOf(b, name))
	}
}

func memberOf(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return absent{}
}

// compareArrays compares by index. Elements after an insertion or a removal are
// compared with their counterparts.
func (d *differ) compareArrays(path string, a, b []any) {
	if len(a) != len(b) {
		for len(a) > 0 && len(b) > 0 && reflect.DeepEqual(a[len(a)-1], b[len(b)-1]) {
			a, b = a[:len(a)-1], b[:len(b)-1]
		}
	}
	for i := range max(len(a), len(b)) {
		d.compareValues(fmt.Sprintf("%s[%d]", path, i), elementOf(a, i), elementOf(b, i))
	}
}

func elementOf(array []any, i int) any {
	if i < len(array) {
		return array[i]
	}
	return absent{}
}

func encodeJSON(v any) string {
	if v == (absent{}) {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
