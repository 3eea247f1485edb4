package realkafka

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Version is the release of Apache Kafka that Install fetches, the one that
// pom.xml names.
const Version = "4.4.0"

//go:embed pom.xml
var pom []byte

// Install returns the directory of the jars of Apache Kafka Version (broker,
// tools, streams), fetching them with Maven into the repository's .cache
// directory at the first call. Later calls, and calls of other processes at
// the same time, find what the first one left.
func Install(ctx context.Context) (string, error) {
	return InstallMaven(ctx, "kafka-"+Version, pom)
}

// InstallMaven resolves the dependencies of a Maven project and returns the
// directory of their jars, .cache/<name>/libs of the repository. The directory
// is filled again when the project file changes. Two processes that call it at
// once wait for each other.
func InstallMaven(ctx context.Context, name string, project []byte) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	libs := filepath.Join(dir, "libs")
	err = Once(ctx, dir, digest(project), func() error {
		if err := need("java", "mvn"); err != nil {
			return err
		}
		if err := os.RemoveAll(libs); err != nil {
			return err
		}
		file := filepath.Join(dir, "pom.xml")
		if err := os.WriteFile(file, project, 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file,
			"dependency:copy-dependencies", "-DoutputDirectory="+libs)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("realkafka: mvn for %s: %w: %s", name, err, tail(out, 2000))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return libs, nil
}

// Once runs fill unless an earlier call left the same stamp in dir, which it
// creates. It holds a lock on dir meanwhile, so that of several processes one
// fills and the others wait. A fill that fails or is killed leaves no stamp.
func Once(ctx context.Context, dir, stamp string, fill func() error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	defer func() { _ = lock.Close() }() // Closing drops the lock.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("realkafka: lock %s: %w", dir, err)
	}
	mark := filepath.Join(dir, ".complete")
	if have, err := os.ReadFile(mark); err == nil && string(have) == stamp {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(mark); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("realkafka: %w", err)
	}
	if err := fill(); err != nil {
		return err
	}
	if err := os.WriteFile(mark, []byte(stamp), 0o644); err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	return nil
}

// CacheDir is the repository's .cache directory, which git ignores: where
// things fetched from package registries are kept between runs. The variable
// COORDINATORD_CACHE names another one.
func CacheDir() (string, error) {
	if dir := os.Getenv("COORDINATORD_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := RepoDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".cache"), nil
}

// RepoDir is the root of the repository: the nearest directory at or above the
// working directory whose go.mod is that of the main module.
func RepoDir() (string, error) {
	const module = "module github.com/coordinatord/coordinatord"
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("realkafka: %w", err)
	}
	for {
		file, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		first, _, _ := strings.Cut(string(file), "\n")
		if err == nil && strings.TrimSpace(first) == module {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("realkafka: not inside the repository: no go.mod of github.com/coordinatord/coordinatord at or above the working directory")
		}
		dir = up
	}
}

// need says in one error which of the programs are not on PATH.
func need(programs ...string) error {
	var missing []string
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("realkafka: needs %s on PATH (Debian: apt-get install openjdk-17-jdk-headless maven)", strings.Join(missing, " and "))
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// tail is the last n bytes of b at most, for errors.
func tail(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return strings.TrimSpace(string(b))
}
