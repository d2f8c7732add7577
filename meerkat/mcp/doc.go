// Package mcp is a client of Model Context Protocol servers: a Router starts
// or reaches them, offers their tools and routes the model's calls.
package mcp

import _ "github.com/modelcontextprotocol/go-sdk/mcp" // the protocol
