package record

// Workspace holds decompressors, compressors and buffers, made when first needed and reused. It is for one goroutine at
// a time; a caller that validates from many keeps a pool of them. The zero value is ready.
type Workspace struct{}
