package vcr_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/vcr"
)

// The first run asks the service, here a simulator, and records. The second one is
// answered from the file.
func ExampleNewAsMode() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	service := simulator.Transport(simulator.New(simulator.Config{}))
	for range 2 {
		rec, err := vcr.NewAsMode(filepath.Join(dir, "models"), vcr.ModeReplayingOrRecording, service)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rec.Mode() == vcr.ModeRecording, statusOf(rec))
		if err := rec.Stop(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// true 200 OK
	// false 200 OK
}

// statusOf asks for one model.
func statusOf(transport http.RoundTripper) string {
	req, err := http.NewRequest(http.MethodGet, "https://api.openai.com/v1/models/gpt-5.5", nil)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer made-up")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Status
}
