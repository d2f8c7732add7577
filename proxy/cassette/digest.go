package cassette

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// The words that a Digest begins with.
const (
	digestSealed = "sealed:"
	digestSHA256 = "sha256:"
)

// Digest identifies the content of the cassette without reading it: the word "sealed:" or
// "sha256:", and hexadecimal digits. For a sealed file they are its closing seal, which
// depends on every byte before it: At checks one interaction against it, Verify all of them.
// For any other file they are its SHA-256.
func (c *Cassette) Digest() string {
	if !c.Sealed() {
		return digestSHA256 + hex.EncodeToString(c.sum[:])
	}
	// The form of the closing line was checked when the file was opened.
	return digestSealed + strings.TrimSpace(string(c.close[bytes.LastIndexByte(c.close, ' '):]))
}
