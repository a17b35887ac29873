//! Pages in a real browser: Chromium, playwright and axe-core.

mod first_screen;
mod page;
