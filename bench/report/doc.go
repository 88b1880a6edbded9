// Package report lays out a comparison: ratios with their spread, as text, Markdown and a picture.
package report
