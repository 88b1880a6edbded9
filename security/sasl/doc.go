// Package sasl proves who is at the other end of a connection: Server is the broker's side of one connection, Client what
// a broker says to another. Neither reads or writes: they take tokens and return tokens, and `now` is an argument. Which
// mechanisms there are, and with which passwords, is in Settings, whose JAAS entries ParseJAAS reads.
//
// Texts of an *Error are meant for the client. What else goes wrong is told to the log alone: the client learns only that
// its credentials are not valid, and not whether there is such a user.
package sasl
