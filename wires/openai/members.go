package openai

import (
	_ "embed" // for members.yaml
	"sync"

	"github.com/meerkat-go/conformance/wires/members"
)

//go:embed members.yaml
var memberFile string

// Members describes the members of requests; the root is "request", of a compaction "compact".
var Members = sync.OnceValue(func() *members.Description {
	return members.Parse(memberFile, members.Style{Rules: map[members.Kind]string{
		members.Unknown: "O-4", members.Missing: "O-3", members.Empty: "O-7", members.Null: "O-5", members.WrongType: "O-5",
		members.UnknownType: "O-5", members.WrongValue: "O-5", members.OutOfRange: "O-6", members.WrongLength: "O-7",
		members.WrongID: "O-8", members.WrongForm: "O-18",
	}})
})
