//! The concurrent test without a test harness, whose own threads a sanitizer would watch too.

#[path = "../../fake_time/concurrent.rs"]
mod concurrent;

fn main() {
    concurrent::check();
}
