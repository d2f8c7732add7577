package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// maxName is the longest name that all providers accept.
const maxName = 64

var (
	plainServer = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)
	plainTool   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	hashed      = regexp.MustCompile(`-[0-9a-f]{12}$`)
	foreign     = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// offeredName returns the name under which a server's tool is offered: server__tool
// where that is a legal name, and else a legal form of it that ends in 12
// hexadecimal digits of the SHA-256 of both names. It depends on nothing but
// the two, so that no other server and no restart changes it, and different
// pairs have different names: a plain name has one place to be cut in, and a
// plain name that looks like a hashed one is hashed too.
func offeredName(server, toolName string) string {
	name := server + "__" + toolName
	if isPlain(server, toolName) && len(name) <= maxName && !hashed.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + toolName))
	legal := foreign.ReplaceAllString(name, "_")
	if c := legal[0]; c == '-' || '0' <= c && c <= '9' {
		legal = "_" + legal
	}
	end := "-" + hex.EncodeToString(sum[:6])
	return legal[:min(len(legal), maxName-len(end))] + end
}

// isPlain reports whether the first "__" of server__tool is the one between.
func isPlain(server, toolName string) bool {
	return plainServer.MatchString(server) && plainTool.MatchString(toolName) &&
		!strings.Contains(server, "__") && !strings.HasSuffix(server, "_")
}
