package clients

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mainVariable names the client of a test binary that is a driver.
const mainVariable = "COMPAT_CLIENT"

// commandLimit bounds one command inside a Go driver.
const commandLimit = time.Minute

// goDriver is a client in Go.
type goDriver interface {
	// execute runs a command and returns the words of its answer.
	execute(ctx context.Context, words []string) (string, error)
	// poll waits a moment for records, when there is a consumer.
	poll(ctx context.Context)
}

// Main is a driver when the environment asks for one, and says whether it was.
func Main() bool {
	var d goDriver
	switch os.Getenv(mainVariable) {
	case "franz-go":
		d = &franz{bootstrap: strings.Split(os.Args[1], ",")}
	case "sarama":
		d = &saramaDriver{bootstrap: strings.Split(os.Args[1], ",")}
	default:
		return false
	}
	serve(context.Background(), d)
	return true
}

// serve executes commands until the end of the input, and polls between them.
func serve(ctx context.Context, d goDriver) {
	commands := make(chan string)
	go func() {
		defer close(commands)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			commands <- lines.Text()
		}
	}()
	for {
		select {
		case line, ok := <-commands:
			if !ok {
				return
			}
			answer(ctx, d, strings.Fields(line))
		default:
			d.poll(ctx)
		}
	}
}

func answer(ctx context.Context, d goDriver, words []string) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	text, err := d.execute(ctx, words)
	if err != nil {
		say("error", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	say("ok", text)
}

var output sync.Mutex

// say writes one line; callbacks of a client may come at any time.
func say(words ...any) {
	output.Lock()
	defer output.Unlock()
	fmt.Println(words...)
}

// sayPartitions tells what was assigned or revoked.
func sayPartitions(kind string, partitions []int32) {
	words := []any{kind}
	for _, p := range partitions {
		words = append(words, p)
	}
	say(words...)
}

// options reads words of the form key=value.
func options(words []string) map[string]string {
	given := map[string]string{}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		given[key] = value
	}
	return given
}

func number[T int | int16 | int32 | int64](word string) T {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err) // the tests send none
	}
	return T(n)
}
