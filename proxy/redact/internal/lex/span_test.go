package lex

import (
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	spans := []Span{Between(0, 2), Between(3, 9), Between(4, 6), Between(5, 12)}
	if got, want := Without(spans, []Span{Between(7, 8), Between(3, 10), Between(4, 5)}),
		[]Span{Between(0, 2), Between(5, 12)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAddDisjoint(t *testing.T) {
	found := []Span{Between(20, 30), Between(5, 8)}
	more := []Span{Between(7, 9), Between(0, 5), Between(1, 4), Between(30, 31), Between(10, 25), Between(12, 14)}
	want := []Span{Between(20, 30), Between(5, 8), Between(0, 5), Between(30, 31)}
	if got := AddDisjoint(found, more); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
