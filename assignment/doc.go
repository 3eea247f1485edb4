// Package assignment holds the assignors of shared groups as pure functions.
package assignment
