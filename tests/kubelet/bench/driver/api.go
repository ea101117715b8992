// A client of the API server, as small as the bench needs it.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

var client = sync.OnceValue(func() *http.Client {
	pool := x509.NewCertPool()
	certificate, _ := os.ReadFile(work + "/certs/apiserver.crt")
	pool.AppendCertsFromPEM(certificate)
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
})

// call answers with the decoded body and the status code; 0 where there was no answer.
func call(method, path string, body any) (object, int) {
	var content []byte
	kind := "application/json"
	if body != nil {
		content, _ = json.Marshal(body)
	}
	if method == "PATCH" {
		kind = "application/merge-patch+json"
	}
	request, _ := http.NewRequest(method, "https://"+master+":"+port+path, bytes.NewReader(content))
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", kind)
	answer, err := client().Do(request)
	if err != nil {
		return nil, 0
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	var decoded object
	json.Unmarshal(text, &decoded)
	return decoded, answer.StatusCode
}

func ready() bool {
	_, code := call("GET", "/readyz", nil)
	return code == 200
}

func get(path string) object {
	found, code := call("GET", path, nil)
	if code != 200 {
		return nil
	}
	return found
}

func create(path string, body object) {
	if answer, code := call("POST", path, body); code > 299 || code == 0 {
		must(fmt.Errorf("%d %v", code, answer["message"]), "POST "+path)
	}
}

func patch(path string, body object) int {
	_, code := call("PATCH", path, body)
	return code
}

// at reads a value by its path, `status/phase`.
func at(from any, path string) any {
	for _, word := range strings.Split(path, "/") {
		switch holder := from.(type) {
		case object:
			from = holder[word]
		case []any:
			if len(holder) == 0 {
				return nil
			}
			from = holder[0]
			if word != "0" {
				return nil
			}
		default:
			return nil
		}
	}
	return from
}

func text(from any, path string) string {
	found, _ := at(from, path).(string)
	return found
}

const (
	namespace = "/api/v1/namespaces/longhorn-system"
	longhorn  = "/apis/longhorn.io/v1beta2/namespaces/longhorn-system"
)

func pod(name string) object { return get(namespace + "/pods/" + name) }

// order tells the process of a pod what to do.
func order(of object, what string) {
	quick := http.Client{Timeout: 5 * time.Second}
	answer, err := quick.Get("http://" + text(of, "status/podIP") + ":8600/" + what)
	if err == nil {
		answer.Body.Close()
	} else if !strings.HasPrefix(what, "exit") {
		fmt.Printf("bench: order %s: %v\n", what, err)
	}
}
