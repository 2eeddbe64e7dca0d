// Binds the endpoints of a plan on standard input with the official Go SDK, tells how each fared, and serves them until
// standard input ends.
package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.ngrok.com/ngrok/v2"
)

type plan struct {
	Address   string
	Authtoken string
	CA        string
	Endpoints []struct {
		URL           string
		Upstream      string
		TrafficPolicy string
		Bindings      []string
		Pooling       bool
		Metadata      string
	}
}

type outcome struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

func main() {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	check(err)
	var p plan
	check(json.Unmarshal(line, &p))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(p.CA))
	agent, err := ngrok.NewAgent(
		ngrok.WithAuthtoken(p.Authtoken),
		ngrok.WithAgentConnectURL(p.Address),
		ngrok.WithAgentConnectCAs(roots),
	)
	check(err)

	outcomes := []outcome{}
	for _, e := range p.Endpoints {
		options := []ngrok.EndpointOption{
			ngrok.WithURL(e.URL),
			ngrok.WithTrafficPolicy(e.TrafficPolicy),
			ngrok.WithPoolingEnabled(e.Pooling),
			ngrok.WithMetadata(e.Metadata),
		}
		if len(e.Bindings) > 0 {
			options = append(options, ngrok.WithBindings(e.Bindings...))
		}
		forwarder, err := agent.Forward(context.Background(), ngrok.WithUpstream(e.Upstream), options...)
		if err != nil {
			outcomes = append(outcomes, outcome{Error: err.Error()})
			continue
		}
		outcomes = append(outcomes, outcome{URL: forwarder.URL().String()})
	}
	text, err := json.Marshal(outcomes)
	check(err)
	fmt.Println(string(text))
	_, _ = io.ReadAll(input)
	// The server may have stopped first.
	_ = agent.Disconnect()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
