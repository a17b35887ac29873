//! Names of the kernel's functions, from `/proc/kallsyms`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use jitterlab_analysis::causes::{NameId, NameTable};

/// The kernel's functions by address; empty if the kernel hides addresses (`kptr_restrict`).
#[derive(Debug, Default)]
pub(super) struct Symbols {
    /// Addresses in order, with where their names begin in `text`.
    addresses: Vec<(u64, u32)>,
    text: String,
    numbers: HashMap<u64, NameId>,
}

impl Symbols {
    pub(super) fn from_kernel() -> Self {
        File::open("/proc/kallsyms").map(|file| Self::from_lines(BufReader::new(file))).unwrap_or_default()
    }

    fn from_lines(lines: impl BufRead) -> Self {
        let mut symbols = Symbols::default();
        for line in lines.lines().map_while(Result::ok) {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let address = u64::from_str_radix(address, 16).unwrap_or(0);
            if address == 0 || !matches!(kind, "t" | "T" | "w" | "W") {
                continue;
            }
            symbols.addresses.push((address, symbols.text.len() as u32));
            symbols.text.push_str(name);
            symbols.text.push('\n');
        }
        symbols.addresses.sort_unstable();
        symbols
    }

    /// Returns the name of the function that an address lies in.
    pub(super) fn name_at(&mut self, address: u64, names: &mut NameTable) -> NameId {
        if let Some(name) = self.numbers.get(&address) {
            return *name;
        }
        let after = self.addresses.partition_point(|(begin, _)| *begin <= address);
        let text = after.checked_sub(1).and_then(|i| self.addresses.get(i)).and_then(|(_, at)| {
            let text = self.text.get(*at as usize..)?;
            text.split_once('\n').map(|(name, _)| name)
        });
        // Without names the address still distinguishes functions.
        let name = match text {
            Some(text) => names.intern(text),
            None => names.intern(&format!("{address:#x}")),
        };
        self.numbers.insert(address, name);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_function_that_begins_before_it() {
        let text = "ffffffff81000100 T second\nffffffff81000000 T first\nffffffff81000050 d data\nffffffffc0000000 t third\t[module]\n";
        let mut symbols = Symbols::from_lines(text.as_bytes());
        let mut names = NameTable::default();
        let mut name = |address| {
            let number = symbols.name_at(address, &mut names);
            names.name(number).to_owned()
        };
        assert_eq!(name(0xffff_ffff_8100_00ff), "first");
        assert_eq!(name(0xffff_ffff_8100_0100), "second");
        assert_eq!(name(0xffff_ffff_c000_1000), "third");
        assert_eq!(name(0x10), "0x10");
    }
}
