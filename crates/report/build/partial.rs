//! A partial bundle of plotly.js, as its makers publish some ("basic", "cartesian", ...): the core with a few traces
//! and components.
//!
//! plotly.min.js is a row of modules, each `var NAME=WRAP((exports,module)=>{...});`, that run when first asked for by
//! `NAME()`. One registers the components that there are, the last one the traces. With the others struck from these
//! lists, whatever they no longer reach is left out: maps and three dimensions, three quarters of the whole, which a
//! browser would have to read and start before it could draw a line.

use std::collections::{BTreeMap, BTreeSet};

/// How the bundler defines what wraps its modules.
const WRAPPER: &str = "=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),t.exports)";
/// How it marks modules of the newer kind, whose functions stand outside of any wrapper.
const NEWER: &str = ">(e&&(t=e(e=0)),t)";

/// The bundle with its core, `traces` and `components` only, or what about it is not as expected.
pub fn of(script: &str, traces: &[&str], components: &[&str]) -> Result<String, String> {
    let with_components = Bundle::read(script)?.registering("component", components)?;
    let with_both = Bundle::read(&with_components)?.registering("trace", traces)?;
    Ok(Bundle::read(&with_both)?.reached())
}

/// A bundle and the modules in it.
struct Bundle<'a> {
    script: &'a str,
    head: &'a str,
    /// Name and text of each, up to the next one.
    modules: Vec<(&'a str, &'a str)>,
    /// What the text of a newer module contains.
    newer: String,
}

impl<'a> Bundle<'a> {
    fn read(script: &'a str) -> Result<Self, String> {
        let wrap = defined_as(script, WRAPPER).ok_or("it is bundled in another way")?;
        let newer = defined_as(script, NEWER).ok_or("its newer modules are bundled in another way")?;
        let opening = format!("={wrap}(");
        let begins = script.match_indices(&opening).filter_map(|(at, _)| {
            let name = script[..at].rfind(|c| !is_word(c)).map(|before| &script[before + 1..at])?;
            script[..at].ends_with(&format!("var {name}")).then(|| (name, at - name.len() - "var ".len()))
        });
        let begins: Vec<_> = begins.collect();
        let (_, first) = begins.first().ok_or("it has no modules")?;
        let ends = begins.iter().skip(1).map(|(_, at)| *at).chain([script.len()]);
        let modules = begins.iter().zip(ends).map(|((name, at), end)| (*name, &script[*at..end])).collect();
        Ok(Bundle { script, head: &script[..*first], modules, newer: format!("={newer}(") })
    }

    /// The bundle with only the modules of this kind and these names in the list that registers them.
    fn registering(&self, kind: &str, names: &[&str]) -> Result<String, String> {
        let text: BTreeMap<_, _> = self.modules.iter().copied().collect();
        // An entry may only pass on the module that describes it.
        let description = |entry: &str| {
            let text_of = |name: &str| text.get(name).copied();
            let own = text_of(entry.strip_suffix("()")?)?;
            own.split_once(".exports=")
                .and_then(|(_, passed_on)| text_of(words(passed_on).next()?))
                .or(Some(own))
        };
        let kind_is = format!("moduleType:\"{kind}\"");
        let registers = |list: &&str| {
            let first = list.split(',').next();
            first.and_then(description).is_some_and(|text| text.contains(&kind_is))
        };
        let mut lists =
            self.script.match_indices("([").filter_map(|(at, _)| self.script[at + 2..].split(']').next());
        let list = lists.find(registers).ok_or(format!("it has no list of every {kind}"))?;
        let kept = names.iter().map(|name| {
            let named = format!("name:\"{name}\"");
            let is = |entry: &&str| description(entry).is_some_and(|text| text.contains(&named));
            list.split(',').find(is).ok_or(format!("it has no {kind} {name}"))
        });
        Ok(self.script.replacen(list, &kept.collect::<Result<Vec<_>, _>>()?.join(","), 1))
    }

    /// The bundle without the modules that its last one, which starts the others, does not reach.
    fn reached(&self) -> String {
        let text: BTreeMap<_, _> = self.modules.iter().copied().collect();
        let stays = |text: &str| text.contains(&self.newer);
        let mut open: Vec<&str> = vec![self.head];
        open.extend(self.modules.last().map(|(_, text)| *text));
        open.extend(text.values().filter(|text| stays(text)));
        let mut reached: BTreeSet<&str> = self.modules.last().map(|(name, _)| *name).into_iter().collect();
        while let Some(part) = open.pop() {
            for (name, text) in words(part).filter_map(|word| text.get_key_value(word)) {
                if reached.insert(name) {
                    open.push(text);
                }
            }
        }
        let kept = self.modules.iter().filter(|(name, text)| reached.contains(name) || stays(text));
        kept.fold(self.head.to_owned(), |script, (_, text)| script + text)
    }
}

/// The name that is defined as ending in `definition` within the bundle's head.
fn defined_as<'a>(script: &'a str, definition: &str) -> Option<&'a str> {
    let before = &script[..script.find(definition)?];
    let before = &before[before.rfind("var ")? + 4..];
    before.split(|c: char| !is_word(c)).next()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}
