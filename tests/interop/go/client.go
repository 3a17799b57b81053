package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

type fields map[string]any

var oneLine sync.Mutex

// report writes one line. What cannot be written as JSON is told as what the SDK could not do.
func report(event string, told fields) {
	told["event"] = event
	line, err := json.Marshal(told)
	if err != nil {
		line, _ = json.Marshal(fields{"event": "log", "text": event + ": " + err.Error()})
	}
	oneLine.Lock()
	defer oneLine.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// logLines turns what the SDK logs into `log` lines.
type logLines struct{}

func (logLines) Write(line []byte) (int, error) {
	report("log", fields{"text": strings.TrimSpace(string(line))})
	return len(line), nil
}

func complaints() *slog.Logger {
	return slog.New(slog.NewTextHandler(logLines{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// client is user code as the SDK sees it: it approves every permission and notes every update.
type client struct{}

func (client) SessionUpdate(_ context.Context, told acp.SessionNotification) error {
	raw, err := json.Marshal(told.Update)
	if err != nil {
		return err
	}
	var kind struct {
		SessionUpdate string `json:"sessionUpdate"`
	}
	_ = json.Unmarshal(raw, &kind)
	report("update", fields{
		"kind": kind.SessionUpdate, "session": told.SessionId, "update": json.RawMessage(raw),
	})
	return nil
}

func (client) RequestPermission(
	_ context.Context, asked acp.RequestPermissionRequest,
) (acp.RequestPermissionResponse, error) {
	for _, option := range asked.Options {
		if option.Kind == acp.PermissionOptionKindAllowOnce {
			outcome := acp.NewRequestPermissionOutcomeSelected(option.OptionId)
			return acp.RequestPermissionResponse{Outcome: outcome}, nil
		}
	}
	outcome := acp.NewRequestPermissionOutcomeCancelled()
	return acp.RequestPermissionResponse{Outcome: outcome}, nil
}

var errNotOffered = errors.New("this client offers no files and no terminals")

func (client) ReadTextFile(
	context.Context, acp.ReadTextFileRequest,
) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNotOffered
}

func (client) WriteTextFile(
	context.Context, acp.WriteTextFileRequest,
) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, errNotOffered
}

func (client) CreateTerminal(
	context.Context, acp.CreateTerminalRequest,
) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNotOffered
}

func (client) KillTerminal(
	context.Context, acp.KillTerminalRequest,
) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNotOffered
}

func (client) TerminalOutput(
	context.Context, acp.TerminalOutputRequest,
) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNotOffered
}

func (client) ReleaseTerminal(
	context.Context, acp.ReleaseTerminalRequest,
) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNotOffered
}

func (client) WaitForTerminalExit(
	context.Context, acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNotOffered
}

// agentProcess is the agent's process. The SDK starts none, so this is the standard library's.
type agentProcess struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  io.Reader
}

func spawn(words []string, folder string) (*agentProcess, error) {
	command := exec.Command(words[0], words[1:]...)
	command.Dir, command.Stderr = folder, os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &agentProcess{command, input, output}, command.Start()
}

// end closes the agent's stdin, waits, kills where that is not enough, and gives the exit status:
// negative for a signal.
func (a *agentProcess) end() int {
	a.input.Close()
	late := time.AfterFunc(closeGrace, func() { _ = a.command.Process.Kill() })
	defer late.Stop()
	_ = a.command.Wait()
	status, known := a.command.ProcessState.Sys().(syscall.WaitStatus)
	if known && status.Signaled() {
		return -int(status.Signal())
	}
	return a.command.ProcessState.ExitCode()
}
