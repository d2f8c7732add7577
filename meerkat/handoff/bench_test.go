package handoff

import (
	"fmt"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// BenchmarkBuild is what handoff costs a turn of a long conversation, at home
// and elsewhere. It grows with the conversation, as the request does.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		var messages []transcript.Message
		for i := range n / 4 {
			id := fmt.Sprint("toolu_", i)
			messages = append(
				messages, user, says(by(opus, signed("x"), transcript.Text("t"), call(id))...), answer(id),
				says(by(opus, transcript.Text("t"))...),
			)
		}
		messages = append(messages, user)
		for _, model := range []string{opus, gpt} {
			t := target(b, model)
			b.Run(fmt.Sprint(n, "/", t.Provider), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Build(History{Messages: messages}, t); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
