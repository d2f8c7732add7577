package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// secret is what a Key holds, prepared once, because each reply needs many
// tokens.
type secret struct {
	block   cipher.Block // of the mask
	tellers sync.Pool    // of *teller
}

// teller computes tags, one at a time.
type teller struct {
	hash.Hash
	room []byte
}

// unseeded is the secret of the zero Key.
var unseeded = newSecret([sha256.Size]byte{}, [sha256.Size]byte{})

func newSecret(mac, mask [sha256.Size]byte) *secret {
	block, err := aes.NewCipher(mask[:])
	if err != nil {
		panic(err) // a 32-byte key is always valid
	}
	return &secret{block, sync.Pool{New: func() any { return &teller{Hash: hmac.New(sha256.New, mac[:])} }}}
}

func (k Key) ready() *secret {
	if k.secret == nil {
		return unseeded
	}
	return k.secret
}

// appendTag appends the 32 bytes that authenticate facts, salt and plain. Each part is
// behind its length, so that no two lists of parts read the same.
func (k Key) appendTag(out []byte, f Facts, salt string, plain []byte) []byte {
	s := k.ready()
	t := s.tellers.Get().(*teller)
	defer s.tellers.Put(t)
	t.room = writePart(writePart(t.room[:0], f.Origin), f.Model)
	t.room = writePart(writePart(t.room, f.Prefix), f.Content)
	t.room = writePart(writePart(t.room, salt), plain)
	t.Reset()
	_, _ = t.Write(t.room) // a hash takes all
	return t.Sum(out)
}

func writePart[T string | []byte](out []byte, b T) []byte {
	return append(binary.BigEndian.AppendUint64(out, uint64(len(b))), b...)
}

// maskBytes makes b unreadable in place, or readable again.
func (k Key) maskBytes(nonce, b []byte) {
	cipher.NewCTR(k.ready().block, nonce[:aes.BlockSize]).XORKeyStream(b, b)
}

// MAC returns 32 bytes that only a holder of the key can make of use and parts:
// for ids that tell, without a memory, that they were issued and what for.
func (k Key) MAC(use string, parts ...[]byte) []byte {
	var room [128]byte
	content := room[:0]
	for _, p := range parts {
		content = append(append(content, byte(len(p)>>8), byte(len(p))), p...)
	}
	return k.appendTag(make([]byte, 0, sha256.Size), Facts{Origin: "mac/" + use, Content: content}, "", nil)
}
