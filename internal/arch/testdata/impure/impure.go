// Package impure does everything that a pure package may not do, once.
package impure

import (
	"fmt"
	"time"
)

func impure(m map[string]int) {
	c := make(chan int)
	go func() { c <- 1 }()
	select {
	case <-c:
	}
	for k := range m {
		fmt.Println(k)
	}
	// The order is not seen: the values are added up.
	for _, v := range m {
		m["sum"] += v
	}
	_ = time.Now()
}
