// Command kafka-in-memory is a Kafka broker on loopback without a disk, for tests of the Collector configurations that
// speak to one. It takes its port and the topics to make, says "ready" on stdout, and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	broker, err := kfake.NewCluster(kfake.Ports(port), kfake.SeedTopics(4, os.Args[2:]...))
	if err != nil {
		log.Fatal(err)
	}
	defer broker.Close()
	fmt.Println("ready", broker.ListenAddrs())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
