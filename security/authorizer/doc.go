// Package authorizer keeps the ACLs of ZooKeeper in memory, answers from them who may do what, and changes them.
//
// Allows and AllowsAny read a table that never changes and is replaced as a whole: they take no lock and wait for nobody.
// Follow is called in each ZooKeeper session; what is changed by another broker, Apache's too, is seen when its
// notification arrives. What is changed here counts here before the answer.
//
// Goroutines: two watches for each session, which end with it.
package authorizer
