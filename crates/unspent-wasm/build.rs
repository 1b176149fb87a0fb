//! What the linker is told of the module.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        // More is never given to it: a question that needs more ends its instance, and nothing else.
        println!("cargo:rustc-link-arg-cdylib=--max-memory={}", 256 << 20);
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={}", 4 << 20);
    }
}
