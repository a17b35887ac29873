//! A partial bundle of plotly.js, as its makers publish some ("basic", "cartesian", ...): the core and a few traces.
//!
//! plotly.min.js is a row of modules, each `var NAME=WRAP((exports,module)=>{...});`, that run when first asked for by
//! `NAME()`. The last one registers every kind of trace there is. With the others struck from its list, whatever it no
//! longer reaches is left out: maps and three dimensions, three quarters of the whole, which a browser would have to
//! read and start before it could draw a line.

use std::collections::{BTreeMap, BTreeSet};

/// How the bundler defines what wraps its modules.
const WRAPPER: &str = "=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),t.exports)";
/// How it marks modules of the newer kind, whose functions stand outside of any wrapper.
const NEWER: &str = ">(e&&(t=e(e=0)),t)";
const REGISTER: &str = ".register([";

/// The bundle with its core and `traces` only, or what about it is not as expected.
pub fn of(script: &str, traces: &[&str]) -> Result<String, String> {
    let wrap = defined_as(script, WRAPPER).ok_or("it is bundled in another way")?;
    let newer = defined_as(script, NEWER).ok_or("its newer modules are bundled in another way")?;
    let modules = modules(script, &format!("={wrap}("));
    let ((_, _, last), modules) = modules.split_last().ok_or("it has no modules")?;
    let (_, first, _) = modules.first().ok_or("it has but one module")?;
    let (start, list) = last.rsplit_once(REGISTER).ok_or("its last module registers nothing")?;
    let (list, end) = list.split_once(']').ok_or("its list of traces has no end")?;
    let text: BTreeMap<&str, &str> = modules.iter().map(|(name, _, text)| (*name, *text)).collect();

    let wanted = traces.iter().map(|trace| {
        let named = format!("name:\"{trace}\"");
        let is = |entry: &&str| {
            // An entry only passes on the module that describes the trace.
            let passed_on = text.get(entry.trim_end_matches("()"))?.split_once(".exports=")?.1;
            Some(text.get(words(passed_on).next()?)?.contains(&named))
        };
        list.split(',').find(|entry| is(entry) == Some(true)).ok_or(format!("it has no trace {trace}"))
    });
    let wanted = wanted.collect::<Result<Vec<_>, _>>()?.join(",");
    let last = format!("{start}{REGISTER}{wanted}]{end}");

    let outside = format!("={newer}(");
    let stays = |text: &str| text.contains(&outside);
    let mut open: Vec<&str> = vec![&last, &script[..*first]];
    open.extend(text.values().filter(|text| stays(text)));
    let mut reached = BTreeSet::new();
    while let Some(part) = open.pop() {
        for (name, text) in words(part).filter_map(|word| text.get_key_value(word)) {
            if reached.insert(*name) {
                open.push(text);
            }
        }
    }
    let mut partial = script[..*first].to_owned();
    for (name, _, text) in modules {
        if reached.contains(name) || stays(text) {
            partial.push_str(text);
        }
    }
    Ok(partial + &last)
}

/// The name that is defined as ending in `definition` within the bundle's head.
fn defined_as<'a>(script: &'a str, definition: &str) -> Option<&'a str> {
    let before = &script[..script.find(definition)?];
    let before = &before[before.rfind("var ")? + 4..];
    before.split(|c: char| !is_word(c)).next()
}

/// Every module: name, where it begins, and its text up to the next one.
fn modules<'a>(script: &'a str, opening: &str) -> Vec<(&'a str, usize, &'a str)> {
    let heads = script.match_indices(opening).filter_map(|(at, _)| {
        let name = script[..at].rfind(|c| !is_word(c)).map(|before| &script[before + 1..at])?;
        script[..at].ends_with(&format!("var {name}")).then(|| (name, at - name.len() - "var ".len()))
    });
    let heads: Vec<_> = heads.collect();
    let ends = heads.iter().skip(1).map(|(_, at)| *at).chain([script.len()]);
    heads.iter().zip(ends).map(|((name, at), end)| (*name, *at, &script[*at..end])).collect()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}
