//! Nothing here: this package is there for its bench, `cargo bench -p unspent-bench-tables`.
