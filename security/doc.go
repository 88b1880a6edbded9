// Package security has the words that authentication and authorization share: who somebody is. It has no state.
package security
