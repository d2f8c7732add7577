package session

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

// The checksum of a record is its last member, over all bytes of the line before
// it. It detects a line that is still valid JSON but was changed after it was
// written.
const (
	sumMember = `,"crc32c":"`
	sumLength = len(sumMember) + 8 + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errSum = errors.New("its checksum does not fit")

// appendSum puts the checksum into the object that begins at start and ends
// dst.
func appendSum(dst []byte, start int) []byte {
	dst = dst[:len(dst)-1]
	return fmt.Appendf(dst, `%s%08x"}`, sumMember, crc32.Checksum(dst[start:], castagnoli))
}

// checkSum verifies the checksum of a line. Older lines have none.
func checkSum(line []byte) error {
	line = bytes.TrimRight(line, " \t\r\n")
	at := len(line) - sumLength
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(sumMember)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil
	}
	want := line[at+len(sumMember) : len(line)-2]
	if string(want) != fmt.Sprintf("%08x", crc32.Checksum(line[:at], castagnoli)) {
		return errSum
	}
	return nil
}
