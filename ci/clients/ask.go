//go:build ignore

// Command ask posts its standard input to Anthropic's API with net/http, by
// whatever base URL, proxy and roots its environment names, and prints the reply.
package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	base := cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), "https://api.anthropic.com")
	req, err := http.NewRequest(http.MethodPost, base+"/v1/messages", os.Stdin)
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			_, err = io.Copy(os.Stdout, resp.Body)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
