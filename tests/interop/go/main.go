// Command interop-client is a client on the Go SDK that writes down what it is given.
//
// Owns: one session with the command after `--`, and one JSON line on stdout for each thing that
// the SDK handed to user code. Does not own: any judgement. It knows nothing of lastword, and
// `agent_error` is foreign to its SDK. The clients in other languages print the same lines.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

const (
	lingerAfterLastPrompt = 200 * time.Millisecond
	closeGrace            = 2 * time.Second
	exitUsage             = 2
)

// prompts collects the values of a flag that may be repeated.
type prompts []string

func (p *prompts) String() string { return fmt.Sprint(*p) }

func (p *prompts) Set(text string) error {
	*p = append(*p, text)
	return nil
}

type options struct {
	name, cwd   string
	meta        map[string]any
	prompts     prompts
	turnTimeout time.Duration
	probe       bool
	command     []string
}

func usage(sentence string) {
	fmt.Fprintln(os.Stderr, sentence)
	os.Exit(exitUsage)
}

func parse() options {
	var o options
	meta := flag.String("meta", "", "an object for clientCapabilities._meta")
	protocol := flag.Int("protocol", 1, "the protocol's version")
	seconds := flag.Float64("turn-timeout", 0, "fuse for each turn, seconds; 0 is none")
	flag.StringVar(&o.name, "name", "interop-go", "clientInfo.name")
	flag.StringVar(&o.cwd, "cwd", ".", "the session's working directory")
	flag.Var(&o.prompts, "prompt", "text of a turn; may be repeated")
	flag.BoolVar(&o.probe, "probe", false, "end with a turn in a new session")
	flag.Parse()
	o.command = flag.Args()
	o.turnTimeout = time.Duration(*seconds * float64(time.Second))
	if *protocol != 1 {
		usage("This SDK speaks version 1 only.")
	}
	if *meta != "" && json.Unmarshal([]byte(*meta), &o.meta) != nil {
		usage("--meta must be a JSON object.")
	}
	if len(o.command) == 0 {
		usage("Give the agent's command after --.")
	}
	absolute, err := filepath.Abs(o.cwd)
	if err != nil {
		usage(err.Error())
	}
	o.cwd = absolute
	if len(o.prompts) == 0 {
		o.prompts = prompts{"What is the answer?"}
	}
	return o
}

// within runs the call beside a timer. The call's own context is left alone: the SDK would send a
// cancel for one that ends, and a client that hangs sends nothing.
func within[T any](limit time.Duration, call func() (T, error)) (value T, err error, hung bool) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := call()
		answered <- answer{value, err}
	}()
	var blown <-chan time.Time
	if limit > 0 {
		blown = time.After(limit)
	}
	select {
	case got := <-answered:
		return got.value, got.err, false
	case <-blown:
		return value, nil, true
	}
}

// outcome gives the line for an error: the SDK's JSON-RPC error, or whatever else came.
func outcome(err error) (string, fields) {
	var request *acp.RequestError
	if errors.As(err, &request) {
		return "error", fields{"code": request.Code, "message": request.Message, "data": request.Data}
	}
	return "exception", fields{"cause": fmt.Sprintf("%T", err), "text": err.Error()}
}

func failed(stage string, err error, hung bool) {
	if hung {
		report("failed", fields{"stage": stage, "cause": "hang", "text": "no answer in time"})
		return
	}
	report("failed", fields{"stage": stage, "cause": fmt.Sprintf("%T", err), "text": err.Error()})
}

func prompt(c *acp.ClientSideConnection, o options, session acp.SessionId, n int, text string) {
	report("prompt", fields{"n": n})
	result, err, hung := within(o.turnTimeout, func() (acp.PromptResponse, error) {
		return c.Prompt(context.Background(), acp.PromptRequest{
			SessionId: session, Prompt: []acp.ContentBlock{acp.TextBlock(text)},
		})
	})
	switch {
	case hung:
		report("hang", fields{"n": n})
	case err != nil:
		event, told := outcome(err)
		told["n"] = n
		report(event, told)
	default:
		report("answer", fields{"n": n, "stop_reason": result.StopReason, "result": result})
	}
}

func openSession(c *acp.ClientSideConnection, o options, stage string) (acp.SessionId, bool) {
	session, err, hung := within(o.turnTimeout, func() (acp.NewSessionResponse, error) {
		request := acp.NewSessionRequest{Cwd: o.cwd, McpServers: []acp.McpServer{}}
		return c.NewSession(context.Background(), request)
	})
	if hung || err != nil {
		failed(stage, err, hung)
		return "", false
	}
	report("session", fields{"id": session.SessionId})
	return session.SessionId, true
}

func converse(c *acp.ClientSideConnection, o options) {
	hello := acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Meta: o.meta},
		ClientInfo:         &acp.Implementation{Name: o.name, Version: "1.0.0"},
	}
	result, err, hung := within(o.turnTimeout, func() (acp.InitializeResponse, error) {
		return c.Initialize(context.Background(), hello)
	})
	if hung || err != nil {
		failed("initialize", err, hung)
		return
	}
	report("initialized", fields{"result": result})
	session, opened := openSession(c, o, "session/new")
	if !opened {
		return
	}
	for n, text := range o.prompts {
		prompt(c, o, session, n, text)
	}
	if o.probe {
		if session, opened := openSession(c, o, "probe"); opened {
			prompt(c, o, session, len(o.prompts), "hello")
		}
	}
	time.Sleep(lingerAfterLastPrompt) // for updates that come late
}

func main() {
	o := parse()
	agent, err := spawn(o.command, o.cwd)
	if err != nil {
		report("failed", fields{"stage": "initialize", "cause": fmt.Sprintf("%T", err), "text": err.Error()})
		os.Exit(1)
	}
	connection := acp.NewClientSideConnection(client{}, agent.input, agent.output)
	connection.SetLogger(complaints())
	converse(connection, o)
	report("ended", fields{"returncode": agent.end()})
}
