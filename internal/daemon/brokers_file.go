package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.uber.org/zap"
)

// brokersFile keeps what was last known of Kafka, so that a daemon that starts while Kafka is away can serve the groups.
const brokersFile = "brokers.json"

// maxBrokersFile bounds what is read of it; a cluster of a thousand brokers and a hundred thousand topics stays below.
const maxBrokersFile = 256 << 20

// restoreBrokers puts back what the last run knew. A file that cannot be used costs the start without Kafka and nothing
// else, so it is a warning.
func (p *process) restoreBrokers() {
	path := filepath.Join(p.cfg.DataDir, brokersFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var data []byte
	switch {
	case err != nil:
	case info.Size() > maxBrokersFile:
		err = fmt.Errorf("it has %d bytes", info.Size())
	default:
		data, err = os.ReadFile(path)
	}
	if err == nil {
		err = p.directory.Restore(data)
	}
	if err != nil {
		p.log.Warn("what was last known of Kafka cannot be used", zap.String("file", path), zap.Error(err))
		return
	}
	p.log.Info("what was last known of Kafka is restored", zap.Int("brokers", len(p.directory.Table().IDs())))
}

// saveBrokers replaces the file in one step; last says that the directory is about to be unlocked.
func (p *process) saveBrokers(last bool) {
	p.keepMu.Lock()
	defer p.keepMu.Unlock()
	if p.kept {
		return
	}
	p.kept = last
	data := p.directory.Snapshot()
	if data == nil || bytes.Equal(data, p.inFile) {
		return
	}
	if err := replaceFile(filepath.Join(p.cfg.DataDir, brokersFile), data); err != nil {
		p.log.Warn("what is known of Kafka cannot be kept for the next start", zap.Error(err))
		return
	}
	p.inFile = data
}

// replaceFile writes a file in one step. The data directory is locked, so nobody else uses the name in between.
func replaceFile(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
