package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
)

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
