package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coordinatord/coordinatord/internal/load"
)

// disk measures what one synced write of 4 KiB costs where the data directories are.
func disk(_ context.Context, e *env) error {
	f, err := os.Create(filepath.Join(e.dir, "fdatasync"))
	if err != nil {
		return err
	}
	defer f.Close()
	var l load.Latencies
	block := make([]byte, 4096)
	for i := range int64(2000) {
		if _, err := f.WriteAt(block, i*int64(len(block))); err != nil {
			return err
		}
		begin := time.Now()
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		l.Record(time.Since(begin))
	}
	e.fdatasync = l.Quantile(0.5)
	e.table.add(row{what: "fdatasync of 4 KiB, ms p50 / p99", ours: fmt.Sprintf("%.2f / %.2f", ms(e.fdatasync), ms(l.Quantile(0.99)))})
	return nil
}
