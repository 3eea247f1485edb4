package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// initialMmap is address space, not memory: a file that outgrows its mapping must wait for every read transaction, and a
// snapshot is a long one.
const initialMmap = 1 << 30

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
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = createBolt(path, opts, buckets)
	}
	if err != nil {
		return nil, fmt.Errorf("raftstore: %s cannot be created: %w", path, err)
	}
	db, err := guardFaults(func() (*bbolt.DB, error) { return bbolt.Open(path, 0o640, opts) })
	if err != nil {
		return nil, fmt.Errorf("raftstore: %s cannot be opened: %w", path, err)
	}
	return db, nil
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
