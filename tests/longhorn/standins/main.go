// Small programs for the images of the bed, under several names: lhe-disk is an engine's data socket as a file, through FUSE (it speaks
// the protocol of longhorn-engine's pkg/dataconn, as Longhorn's tgt does), livenessprobe is CSI's sidecar. Any other name waits.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	opRead, opWrite, opResponse, opEOF, opUnmap = 0, 1, 2, 4, 7

	magic, header, page = 0x1b01, 26, 4096
)

type answer struct {
	kind uint32
	data []byte
}

type engine struct {
	socket string
	mutex  sync.Mutex
	conn   net.Conn
	last   uint32
	open   map[uint32]chan answer
}

// connect replaces the connection: a live upgrade puts another process behind the socket.
func (e *engine) connect() error {
	conn, err := net.Dial("unix", e.socket)
	if err != nil {
		return err
	}
	e.mutex.Lock()
	old := e.conn
	e.conn = conn
	e.mutex.Unlock()
	if old != nil {
		old.Close()
	}
	go e.listen(conn)
	return nil
}

func (e *engine) listen(conn net.Conn) {
	head := make([]byte, header)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			break
		}
		data := make([]byte, binary.LittleEndian.Uint32(head[22:]))
		if _, err := io.ReadFull(conn, data); err != nil {
			break
		}
		e.mutex.Lock()
		number := binary.LittleEndian.Uint32(head[2:])
		if waiting := e.open[number]; waiting != nil {
			delete(e.open, number)
			waiting <- answer{binary.LittleEndian.Uint32(head[6:]), data}
		}
		e.mutex.Unlock()
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.conn == conn {
		e.conn = nil
		for number, waiting := range e.open {
			delete(e.open, number)
			close(waiting)
		}
	}
}

func (e *engine) send(kind uint32, data []byte, size uint32, at int64) (chan answer, error) {
	for try := 0; ; try++ {
		e.mutex.Lock()
		if e.conn != nil {
			break
		}
		e.mutex.Unlock()
		if try == 50 {
			return nil, errors.New("no engine behind the socket")
		}
		if e.connect() != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
	defer e.mutex.Unlock()
	e.last++
	message := make([]byte, header, header+len(data))
	binary.LittleEndian.PutUint16(message, magic)
	binary.LittleEndian.PutUint32(message[2:], e.last)
	binary.LittleEndian.PutUint32(message[6:], kind)
	binary.LittleEndian.PutUint64(message[10:], uint64(at))
	binary.LittleEndian.PutUint32(message[18:], size)
	binary.LittleEndian.PutUint32(message[22:], uint32(len(data)))
	waiting := make(chan answer, 1)
	e.open[e.last] = waiting
	_, err := e.conn.Write(append(message, data...))
	return waiting, err
}

func (e *engine) do(kind uint32, data []byte, size uint32, at int64) ([]byte, syscall.Errno) {
	waiting, err := e.send(kind, data, size, at)
	if err != nil {
		return nil, syscall.EIO
	}
	select {
	case got, ok := <-waiting:
		if ok && (got.kind == opResponse || got.kind == opEOF) {
			return got.data, 0
		}
	case <-time.After(30 * time.Second):
	}
	return nil, syscall.EIO
}

type disk struct {
	fs.Inode
	engine *engine
	size   string // the file that holds its size
}

func (d *disk) bytes() int64 {
	text, _ := os.ReadFile(d.size)
	size, _ := strconv.ParseInt(string(text), 10, 64)
	return size
}

func (d *disk) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(d.bytes())
	return 0
}

func (d *disk) Setattr(context context.Context, file fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(context, file, out)
}

func (d *disk) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (d *disk) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }

func (d *disk) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

func (d *disk) Read(_ context.Context, _ fs.FileHandle, into []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	from, to := at/page*page, min((at+int64(len(into))+page-1)/page*page, d.bytes())
	if to <= at {
		return fuse.ReadResultData(nil), 0
	}
	data, errno := d.engine.do(opRead, nil, uint32(to-from), from)
	if errno == 0 && int64(len(data)) < at-from {
		errno = syscall.EIO
	}
	if errno != 0 {
		return nil, errno
	}
	data = data[at-from:]
	return fuse.ReadResultData(data[:min(len(data), len(into))]), 0
}

func (d *disk) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	_, errno := d.engine.do(opWrite, data, uint32(len(data)), at)
	return uint32(len(data)), errno
}

func (d *disk) Allocate(_ context.Context, _ fs.FileHandle, at, size uint64, mode uint32) syscall.Errno {
	const punchHole = 2
	if mode&punchHole == 0 {
		return syscall.EOPNOTSUPP
	}
	_, errno := d.engine.do(opUnmap, nil, uint32(size), int64(at))
	return errno
}

type root struct {
	fs.Inode
	disk *disk
}

func (r *root) OnAdd(context context.Context) {
	r.AddChild("disk", r.NewPersistentInode(context, r.disk, fs.StableAttr{Mode: syscall.S_IFREG, Ino: 2}), true)
}

// serve mounts the disk of the engine behind the socket until it is ended; SIGUSR1 connects it again.
func serve(socket, size, directory string) {
	engine := &engine{socket: socket, open: map[uint32]chan answer{}}
	must(engine.connect())
	never := time.Duration(0)
	server, err := fs.Mount(directory, &root{disk: &disk{engine: engine, size: size}}, &fs.Options{AttrTimeout: &never, EntryTimeout: &never,
		MountOptions: fuse.MountOptions{DirectMount: true, AllowOther: true, MaxWrite: 128 << 10, FsName: "longhorn"}})
	must(err)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			engine.connect()
		}
	}()
	server.Wait()
}

func must(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func main() {
	switch filepath.Base(os.Args[0]) {
	case "lhe-disk":
		serve(os.Args[1], os.Args[2], os.Args[3])
	case "livenessprobe":
		must(http.ListenAndServe(":9808", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	}
	time.Sleep(1 << 62)
}
