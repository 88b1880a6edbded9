// Package keystore reads private keys and trusted certificates from what Java calls key stores: JKS, PKCS12 and PEM. It
// works on bytes; who calls it has read the file, and owns what comes back.
package keystore
