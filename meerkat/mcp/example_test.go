package mcp_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// A server is started, narrowed to what the run may use, and called.
func ExampleOpen() {
	ctx := context.Background()
	servers := []mcp.Server{{
		Name:    "calc",
		Command: os.Args[0], // in life: "npx", with Args "-y", "@modelcontextprotocol/server-everything"
		Env:     map[string]string{mode: "sdk"},
		Timeout: 30 * time.Second,
	}}
	router, err := mcp.Open(ctx, servers, mcp.Options{Environ: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer router.Close()
	tools, err := tool.Restrict(router, tool.Policy{Deny: []string{"*__fail"}, Timeout: 10 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, def := range tools.Defs() {
		fmt.Println(def.Name)
	}
	fmt.Println(
		tools.Dispatch(ctx, transcript.ToolCall{ID: "1", Name: "calc__add", Args: []byte(`{"a":2,"b":40}`)}).Content,
	)
	fmt.Println(
		tools.Dispatch(ctx, transcript.ToolCall{ID: "2", Name: "calc__add", Args: []byte(`{"a":"two"}`)}).Content,
	)
	fmt.Println(tools.Dispatch(ctx, transcript.ToolCall{ID: "3", Name: "calc__fail", Args: []byte(`{}`)}).Content)
	// Output:
	// calc__add
	// calc__more
	// {"total":42}
	// tool calc__add was not executed: its arguments do not fit: a: Invalid type. Expected: integer, given: string; b is required. It takes a (integer, required), b (integer, required)
	// not executed: the tool calc__fail is not allowed in this run
}
