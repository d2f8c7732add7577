// Package vcr records what a Go test and an HTTP service say to each other, and
// replays it. It is the recorder of this project as an [http.RoundTripper]:
//
//	func TestAgent(t *testing.T) {
//		rec := vcr.ForTest(t, "testdata/loop")
//		client := anthropic.NewClient(option.WithHTTPClient(&http.Client{Transport: rec}))
//		runAgent(t, client, "Fix the bug.")
//		vcr.Judge(t, rec)
//	}
//
// With a key in the environment the test records testdata/loop.yaml; in CI, and
// without a key, it replays that file and nothing is sent. See [ForTest].
//
// # Coming from go-vcr
//
// [New] and [NewAsMode], the modes and the methods of a [Recorder] have the names
// and signatures of go-vcr v2, and filters and matchers take its types, so that one
// changed import is all:
//
//	import recorder "github.com/meerkat-go/conformance/vcr"
//
// What differs, and why, is in docs/guides/vcr.md.
//
// # What a recording promises
//
// Streams stay streams: each piece of a reply reaches the client when it arrives,
// and a replay sends the same pieces. Credentials become pseudonyms before anything
// is written, and what still looks like a key is not saved; neither can be switched
// off. Every interaction is on disk soon after its reply has ended, in a file of mode
// 0600 that stock go-vcr v2 reads.
package vcr
