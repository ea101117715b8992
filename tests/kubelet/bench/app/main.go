// The process in every container of the bench: it listens, answers probes, and ends as it is told.
//
//	app pause                          a sandbox
//	app probe PORT                     exit 0 if something listens on the port
//	app serve PORT...                  listens; takes orders on :8600
//
// Orders: /close (stops listening), /ignore-term, /exit?code=N, /eat (over the memory limit), /eat-in-child.
package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "probe":
		connection, err := net.DialTimeout("tcp", "127.0.0.1:"+os.Args[2], time.Second)
		if err != nil {
			os.Exit(1)
		}
		connection.Close()
	case "serve":
		serve(os.Args[2:])
	case "eat":
		eat()
	default:
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
		<-stop
	}
}

func serve(ports []string) {
	var listeners []net.Listener
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			os.Exit(3)
		}
		listeners = append(listeners, listener)
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				connection.Close()
			}
		}()
	}
	var ignores atomic.Bool
	http.HandleFunc("/close", func(http.ResponseWriter, *http.Request) {
		for _, listener := range listeners {
			listener.Close()
		}
	})
	http.HandleFunc("/ignore-term", func(http.ResponseWriter, *http.Request) { ignores.Store(true) })
	http.HandleFunc("/exit", func(_ http.ResponseWriter, request *http.Request) {
		code, _ := strconv.Atoi(request.URL.Query().Get("code"))
		go func() { time.Sleep(200 * time.Millisecond); os.Exit(code) }()
	})
	http.HandleFunc("/eat", func(http.ResponseWriter, *http.Request) { go eat() })
	http.HandleFunc("/eat-in-child", func(http.ResponseWriter, *http.Request) {
		child := exec.Command("/bin/app", "eat")
		if child.Start() == nil {
			go child.Wait()
		}
	})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		for range stop {
			if !ignores.Load() {
				os.Exit(0)
			}
		}
	}()
	http.ListenAndServe(":8600", nil)
}

// eat takes memory until the kernel ends it.
func eat() {
	var all [][]byte
	for {
		block := make([]byte, 8<<20)
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
		all = append(all, block)
		time.Sleep(5 * time.Millisecond)
	}
}
