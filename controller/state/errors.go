package state

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Error is a refusal with the text that the client is to read, word for word as Kafka sends it.
type Error struct {
	// Code gives the error code of the answer.
	Code *kerr.Error
	// Message goes to the client as it is. Empty: the answer has no message.
	Message string
}

// Error returns the message, or the code's own description when there is none.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.Error()
	}
	return e.Message
}

// Unwrap gives the code to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Code }

// Errorf makes an Error of a code and a formatted message.
func Errorf(code *kerr.Error, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ClientMessage is the text that the answer carries.
func (e *Error) ClientMessage() string { return e.Message }
