package gemini

import (
	_ "embed" // for members.yaml
	"sync"

	"github.com/meerkat-go/conformance/wires/members"
)

//go:embed members.yaml
var memberFile string

// Members describes the members of requests; the root is "request", of a count "count".
var Members = sync.OnceValue(func() *members.Description {
	return members.Parse(memberFile, members.Style{Proto: true, Rules: map[members.Kind]string{
		members.Unknown: "G-3", members.Missing: "G-7", members.Null: "G-7", members.Empty: "G-7", members.WrongType: "G-3",
		members.WrongValue: "G-3", members.OutOfRange: "G-28", members.WrongLength: "G-28", members.SetTwice: "G-8", members.NotBase64: "G-3",
	}})
})
