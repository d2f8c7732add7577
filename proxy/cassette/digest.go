package cassette

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// The beginnings of a Digest.
const (
	// DigestSealed: the rest is the closing seal, in hexadecimal.
	DigestSealed = "sealed:"
	// DigestSHA256: the rest is the SHA-256 of the file, in hexadecimal.
	DigestSHA256 = "sha256:"
)

// Digest identifies the cassette's content without reading it. For a sealed file
// it is the closing seal, which depends on every byte before it: At checks one
// interaction against it, Verify all. For any other file it is the SHA-256.
func (c *Cassette) Digest() string {
	if !c.Sealed() {
		return DigestSHA256 + hex.EncodeToString(c.sum[:])
	}
	// The form of the closing line was checked when the file was opened.
	return DigestSealed + strings.TrimSpace(string(c.close[bytes.LastIndexByte(c.close, ' '):]))
}
