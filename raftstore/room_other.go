//go:build !linux

package raftstore

import (
	"errors"
	"os"
)

func reserve(*os.File, int64) error { return errors.ErrUnsupported }
