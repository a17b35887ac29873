//! Stores the interface version in the shared library, so that programs find the one they were linked with.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libjitterlab.so.0");
    // Its threads run on in it: dlclose() leaves it where it is.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
