// Package quota knows how much clients may use, and for how long they have to be held up when they use more.
//
// Table finds the quota of a user and a client id among the eight kinds of entities of Kafka. Meters measure what each
// entity uses, as rates over windows; Buckets do so for changes of topics, by tokens. None of them has a clock or a lock:
// time is an argument, and who shares them between goroutines guards them.
package quota
