package session

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
)

// A line ends with two checksums: "prev" is that of the line before it, "crc32c"
// covers all bytes of the line ahead of it, "prev" included. They detect a line
// that is valid JSON but was changed, and lines that were lost, doubled or put
// into another order. The header has no "prev"; older programs wrote none, and
// the oldest wrote no checksums.
const (
	prevMember = `,"prev":"`
	sumMember  = `,"crc32c":"`
	memberEnd  = 8 + len(`"`) // of both: eight digits and a quote
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errSum   = errors.New("its checksum does not fit")
	errChain = errors.New("it does not follow the line before it: lines were lost, repeated or reordered")
)

// Chain writes the records of one session: each line carries the checksum of the
// line before it. The zero Chain begins a session; [Parsed] holds the Chain that
// goes on with a stored one. A Chain that returned an error must not be used
// again.
type Chain struct {
	last  uint32
	begun bool
}

// AppendRecord appends r as one line, as the function [AppendRecord] does, tied to
// the line before it.
func (c *Chain) AppendRecord(dst []byte, r Record) ([]byte, error) {
	start := len(dst)
	dst, err := appendBody(dst, r)
	if err != nil {
		return dst, err
	}
	if c.begun {
		dst = appendHexMember(dst, prevMember, c.last)
	}
	*c = Chain{last: crc32.Checksum(dst[start:], castagnoli), begun: true}
	return append(appendHexMember(dst, sumMember, c.last), '}', '\n'), nil
}

func appendHexMember(dst []byte, name string, sum uint32) []byte {
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], sum)
	return append(hex.AppendEncode(append(dst, name...), raw[:]), '"')
}

// seal is what the end of a line says of it and of the line before it.
type seal struct {
	body   []byte // the line without its seal
	prev   []byte // nil if the line names none
	stored []byte // nil if the line names no checksum of its own
	sum    uint32 // computed
}

// readSeal takes the seal off a line, which may end with white space.
func readSeal(line []byte) seal {
	line, ended := bytes.CutSuffix(bytes.TrimRight(line, " \t\r\n"), []byte("}"))
	if !ended {
		return seal{} // no record
	}
	body, stored := cutHexMember(line, sumMember)
	s := seal{body: body, stored: stored, sum: crc32.Checksum(body, castagnoli)}
	if stored != nil {
		s.body, s.prev = cutHexMember(body, prevMember)
	}
	return s
}

// fits reports whether the line has the checksum that it names, if it names one.
func (s seal) fits() bool { return s.stored == nil || isHexOf(s.stored, s.sum) }

// cutHexMember cuts the member of that name off the end of line, and returns its
// eight digits, nil if the line does not end with it.
func cutHexMember(line []byte, name string) (rest, digits []byte) {
	at := len(line) - len(name) - memberEnd
	if at < 0 || string(line[at:at+len(name)]) != name || line[len(line)-1] != '"' {
		return line, nil
	}
	return line[:at], line[at+len(name) : len(line)-1]
}

func isHexOf(digits []byte, sum uint32) bool {
	var have [8]byte
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], sum)
	return string(hex.AppendEncode(have[:0], raw[:])) == string(digits)
}

// follow moves the chain on to a line. A line of an older program names no line
// before it; it may follow any.
func (c *Chain) follow(s seal) error {
	if !s.fits() {
		return errSum
	}
	if s.prev != nil && (!c.begun || !isHexOf(s.prev, c.last)) {
		return errChain
	}
	*c = Chain{last: s.sum, begun: true}
	return nil
}
