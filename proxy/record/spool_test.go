package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

func newSpool(t interface{ Fatal(...any) }) *spool {
	f, err := newSpooler()
	if err != nil {
		t.Fatal(err)
	}
	return f.newSpool()
}

// Whatever is written in whatever pieces is read back.
func TestSpoolKeepsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSpool(t)
		defer s.close()
		var want bytes.Buffer
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 150<<10), 0, 12).Draw(t, "sizes") {
			piece := bytes.Repeat([]byte{byte('a' + i)}, n)
			want.Write(piece)
			if m, err := s.Write(piece); m != n || err != nil {
				t.Fatal(m, err)
			}
		}
		got, err := s.readAll()
		if err != nil || !bytes.Equal(got, want.Bytes()) || s.size != int64(want.Len()) {
			t.Fatalf("read back %d of %d bytes, error %v", len(got), want.Len(), err)
		}
		if want.Len() == 0 {
			return
		}
		at := rapid.IntRange(0, want.Len()-1).Draw(t, "offset") // of a block of the disk, of the cipher, or of none
		piece := make([]byte, 100)
		n, err := s.readAt(piece, int64(at))
		if err != nil || n == 0 || !bytes.HasPrefix(want.Bytes()[at:], piece[:n]) {
			t.Fatalf("read %d bytes at %d, error %v", n, at, err)
		}
	})
}

// A long body needs little memory, and nothing of it can be found on disk.
func TestSpoolIsFlatAndUnreadable(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := newSpool(t)
	defer s.close()
	line := bytes.Repeat([]byte("a secret line\n"), 2048)
	for range 512 {
		_, _ = s.Write(line)
	}
	if s.size < 14<<20 || cap(s.mem) > 2*spoolBlock+len(line) {
		t.Errorf("%d bytes spooled hold %d in memory", s.size, cap(s.mem))
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 0 {
		t.Errorf("the file has a name: %v", names)
	}
	disk := make([]byte, s.stored)
	if _, err := s.file.ReadAt(disk, 0); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(disk, []byte("secret")) {
		t.Error("the file can be read")
	}
	if bytes.Equal(disk[:spoolBlock], disk[spoolBlock:2*spoolBlock]) {
		t.Error("equal blocks are equal on disk")
	}
	if info, err := s.file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

// Without a disk a body stays in memory: the stream goes on.
func TestSpoolWithoutDisk(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	s := newSpool(t)
	want := bytes.Repeat([]byte("x"), 1<<20)
	_, _ = s.Write(want)
	_, _ = s.Write(want)
	if got, err := s.readAll(); err != nil || len(got) != 2<<20 {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
}

// What has no room on the disk is kept in a bounded part of memory. Beyond it a
// reply is given up, with a reason; a request, which must be sent on, never is.
func TestSpoolWithoutDiskIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", dir)
	f, err := newSpooler()
	if err != nil {
		t.Fatal(err)
	}
	request, reply, late := f.newSpool(), f.newSpool(), f.newSpool()
	request.required = true
	block := make([]byte, 1<<20)
	for range spillQuota >> 20 {
		_, _ = request.Write(block)
		_, _ = reply.Write(block)
	}
	if got, err := request.readAll(); err != nil || len(got) != spillQuota {
		t.Errorf("request: %d bytes, %v", len(got), err)
	}
	if _, err := reply.readAll(); !reply.lost || len(reply.mem) > 0 || err == nil ||
		err.Error() != "the temporary folder "+dir+" takes no more of the body (no such file or directory)" {
		t.Errorf("reply: lost %t, %d bytes in memory, %v", reply.lost, len(reply.mem), err)
	}
	reply.close()
	request.close()
	if n := f.quotaUsed.Load(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
	_, _ = late.Write(block)
	if got, err := late.readAll(); err != nil || len(got) != len(block) {
		t.Errorf("afterwards: %d bytes, %v", len(got), err)
	}
}

// Files are written anew, and what is read back is never another body's.
func TestSpoolFilesAreUsedAgain(t *testing.T) {
	f, err := newSpooler()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	var used []*os.File
	for i, n := range []int{2 << 20, 1 << 20, 300 << 10} {
		s := f.newSpool()
		want := bytes.Repeat([]byte{byte('a' + i)}, n)
		_, _ = s.Write(want)
		if got, err := s.readAll(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("body %d: %d bytes, %v", i, len(got), err)
		}
		used = append(used, s.file)
		s.close()
	}
	if used[0] != used[1] || used[1] != used[2] || len(f.idle) != 1 {
		t.Errorf("%d files wait, want the same one each time", len(f.idle))
	}
	f.close()
	if _, err := used[0].Stat(); err == nil {
		t.Error("the file is still open")
	}
}

// A disk that fills up keeps what it has; the rest stays in memory.
func TestSpoolWhenWritingFails(t *testing.T) {
	s := newSpool(t)
	_, _ = s.Write(bytes.Repeat([]byte("a"), inMemory))
	readOnly, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	good := s.file
	s.file = readOnly
	_, _ = s.Write(bytes.Repeat([]byte("b"), inMemory))
	s.file = good
	defer func() { _ = readOnly.Close() }()
	defer s.close()
	want := append(bytes.Repeat([]byte("a"), inMemory), bytes.Repeat([]byte("b"), inMemory)...)
	if got, err := s.readAll(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, error %v", len(got), err)
	}
}

// A body that has become too long to be kept takes no more room.
func TestTooLongABodyGivesItsRoomBack(t *testing.T) {
	f, err := newSpooler()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	x := &exchange{request: f.newSpool(), response: f.newSpool(), chunks: f.newSpool(), limit: 1 << 20}
	for range 64 {
		x.keepChunk(make([]byte, 64<<10))
	}
	if x.bodySize() != 0 || x.response.file != nil || len(f.idle) != 1 {
		t.Errorf("%d bytes are kept, %d files wait", x.bodySize(), len(f.idle))
	}
	if _, err := x.buildInteraction(1 << 20); err == nil ||
		err.Error() != "a body of more than 1 MiB, the most that is kept (4 MiB passed); --max-body keeps longer ones" {
		t.Errorf("error %v", err)
	}
}
