package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// initialMmap is address space, not memory: a file that outgrows its mapping must wait for every read transaction, and a
// snapshot is a long one.
const initialMmap = 1 << 30

var errEmpty = errors.New("the file is empty")

func boltOptions() *bbolt.Options {
	return &bbolt.Options{
		// The daemon's own lock on the directory comes first; this one only guards against other programs.
		Timeout: time.Second,
		// Without these the freelist that a truncation leaves behind is written by every later commit.
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: initialMmap,
		NoStatistics:    true,
	}
}

// openBolt opens the file, or creates it with the buckets. It is created under another name, so that a crash never leaves
// a file that is half a database.
func openBolt(path string, opts *bbolt.Options, buckets ...[]byte) (*bbolt.DB, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = createBolt(path, opts, buckets)
	case err == nil && info.Size() == 0:
		return nil, openError(path, errEmpty) // bbolt would take it for a new one
	case err == nil:
		if err := checkBolt(path); err != nil {
			return nil, openError(path, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("raftstore: %s cannot be created: %w", path, err)
	}
	db, err := guardFaults(func() (*bbolt.DB, error) { return bbolt.Open(path, 0o640, opts) })
	if err != nil {
		return nil, openError(path, err)
	}
	return db, nil
}

// openError tells a damaged file from one that only cannot be opened now.
func openError(path string, err error) error {
	var pathErr *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w: another program holds %s", ErrInUse, path)
	case errors.As(err, &pathErr), errors.As(err, &errno):
		return fmt.Errorf("raftstore: %s cannot be opened: %w", path, err)
	}
	return fmt.Errorf("%w: %s cannot be opened: %w", ErrDamaged, path, err)
}

func createBolt(path string, opts *bbolt.Options, buckets [][]byte) error {
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(tmp, 0o640, opts)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	crashpoint("bolt-created")
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// checkBolt visits every page that is in use. Opening for writing does so too, to find the free ones, but in a goroutine of
// bbolt's own, where an impossible page would end the process without a word for the operator.
func checkBolt(path string) error {
	opts := boltOptions()
	opts.ReadOnly, opts.InitialMmapSize = true, 0
	_, err := guardFaults(func() (struct{}, error) {
		db, err := bbolt.Open(path, 0, opts)
		if err != nil {
			return struct{}{}, err
		}
		err = db.View(func(tx *bbolt.Tx) error {
			return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
				c := b.Cursor()
				for k, _ := c.First(); k != nil; k, _ = c.Next() {
					if len(k) == 0 {
						return errors.New("a key is empty")
					}
				}
				return nil
			})
		})
		return struct{}{}, errors.Join(err, db.Close())
	})
	return err
}

// guardFaults turns what a damaged file does to bbolt (panics on impossible pages, faults beyond the end of a truncated
// file's mapping) into an error.
func guardFaults[T any](f func() (T, error)) (v T, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged: %v", p)
		}
	}()
	return f()
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
