package oracle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// field is what anthropic-sdk-go and openai-go note of each member they decode.
type field interface {
	Raw() string
	Valid() bool
}

// outline collects what an SDK misses, cannot read or does not know in what it
// decoded.
type outline struct{ complaints []string }

// see walks through a decoded value.
func (s *outline) see(path string, v any) { s.walk(path, reflect.ValueOf(v)) }

func (s *outline) walk(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.walk(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.walk(fmt.Sprintf("%s.%d", path, i), v.Index(i))
		}
	case reflect.Struct:
		s.object(path, v)
	default: // texts, numbers: read or not, their parent knows
	}
}

// object reads the notes of one object; of a union those of its variant.
func (s *outline) object(path string, v reflect.Value) {
	if as := v.MethodByName("AsAny"); as.IsValid() {
		variant := as.Call(nil)[0]
		if variant.IsNil() {
			s.complaints = append(s.complaints, path+": of an unknown type")
			return
		}
		s.walk(path, variant)
		return
	}
	notes := v.FieldByName("JSON")
	if !notes.IsValid() || notes.Kind() != reflect.Struct {
		return
	}
	if extra := notes.FieldByName("ExtraFields"); extra.IsValid() {
		for _, name := range extra.MapKeys() {
			s.complaints = append(s.complaints, path+"."+name.String()+": unknown")
		}
	}
	for i := range v.NumField() {
		s.member(path, v.Type().Field(i), v.Field(i), notes.FieldByName(v.Type().Field(i).Name))
	}
}

func (s *outline) member(path string, f reflect.StructField, v, note reflect.Value) {
	if !note.IsValid() || !note.CanInterface() {
		return
	}
	noted, ok := note.Interface().(field)
	if !ok {
		return
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	path += "." + name
	_, constant := f.Tag.Lookup("default")
	switch required := constant || strings.Contains(f.Tag.Get("api"), "required"); {
	case noted.Raw() == "" && required && name != "":
		s.complaints = append(s.complaints, path+": missing")
	case noted.Raw() == "" || noted.Raw() == "null":
	case !noted.Valid():
		s.complaints = append(s.complaints, path+": not of the type that the SDK expects: "+noted.Raw())
	default:
		s.walk(path, v)
	}
}

// report fails the test with each complaint once, those apart that are known.
func (s *outline) report(t *testing.T, known ...string) {
	t.Helper()
	slices.Sort(s.complaints)
	for _, c := range slices.Compact(s.complaints) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.HasSuffix(c, k) }) {
			t.Error(c)
		}
	}
}
