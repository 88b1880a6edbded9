package protocol

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ErrMalformed is wrapped by every error that says that a frame is not what its header claims. The connection it came on
// must be closed: nothing on it can be trusted any more.
var ErrMalformed = errors.New("malformed request")

// ErrorCode is the code of an error on the wire: 0 for nil, the code of the *kerr.Error it wraps, and -1
// (UNKNOWN_SERVER_ERROR) for any other. It is the only place where an error becomes a code.
func ErrorCode(err error) int16 {
	if err == nil {
		return 0
	}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Code
	}
	return kerr.UnknownServerError.Code
}

// Messenger is an error with a text that is meant for the client.
type Messenger interface{ ClientMessage() string }

// ErrorMessage is the text that goes with ErrorCode: that of a Messenger in the chain, else Kafka's text for the code.
// nil for no error.
func ErrorMessage(err error) *string {
	if err == nil {
		return nil
	}
	var text string
	var m Messenger
	var ke *kerr.Error
	switch {
	case errors.As(err, &m):
		text = m.ClientMessage()
	case errors.As(err, &ke):
		text = description(ke)
	default:
		text = kerr.UnknownServerError.Description
	}
	return &text
}

// description is Kafka's text for a code; kerr words two of them differently.
func description(err *kerr.Error) string {
	switch err {
	case kerr.TopicAuthorizationFailed:
		return "Topic authorization failed."
	case kerr.GroupAuthorizationFailed:
		return "Group authorization failed."
	}
	return err.Description
}

// ClientMessage is the text of a Messenger in the chain, nil where there is none: for the answers in which Kafka explains
// only what the code does not say.
func ClientMessage(err error) *string {
	var m Messenger
	if !errors.As(err, &m) || m.ClientMessage() == "" {
		return nil
	}
	text := m.ClientMessage()
	return &text
}

// messageError is a code with a text of its own.
type messageError struct {
	err *kerr.Error
	msg string
}

// WithMessage gives an error for clients a text of its own, which ErrorMessage then returns.
func WithMessage(err *kerr.Error, msg string) error { return &messageError{err: err, msg: msg} }

func (e *messageError) Error() string         { return e.err.Message + ": " + e.msg }
func (e *messageError) Unwrap() error         { return e.err }
func (e *messageError) ClientMessage() string { return e.msg }
