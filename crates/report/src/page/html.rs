//! HTML put together piece by piece: text becomes text, whatever is in it.

use std::borrow::Cow;

use crate::printable::markup;

/// HTML, whole elements of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Html(String);

impl Html {
    /// Takes text that is HTML, a style or a script already.
    pub(super) fn as_it_is(html: impl Into<String>) -> Self {
        Html(html.into())
    }

    /// It if that is so, else nothing.
    pub(super) fn only_if(self, so: bool) -> Self {
        if so { self } else { Html::default() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(pieces: I) -> Self {
        Html(pieces.into_iter().map(|piece| piece.0).collect())
    }
}

/// Content of an HTML template.
pub(super) trait Part {
    fn html(&self) -> Cow<'_, str>;
}

impl Part for Html {
    fn html(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl Part for usize {
    fn html(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl Part for u32 {
    fn html(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl Part for str {
    fn html(&self) -> Cow<'_, str> {
        markup(self)
    }
}

impl Part for String {
    fn html(&self) -> Cow<'_, str> {
        self.as_str().html()
    }
}

impl<T: Part + ?Sized> Part for &T {
    fn html(&self) -> Cow<'_, str> {
        (**self).html()
    }
}

/// HTML after a template, with a value for each `{name}` in it. There is no other way into the template: `concat!` takes
/// the names of variables out of reach.
macro_rules! html {
    ($template:expr $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::page::html::Html::as_it_is(format!(
            concat!($template)
            $(, $name = $crate::page::html::Part::html(&$value))*
        ))
    };
}
pub(super) use html;

/// A sentence in which no line ends between a number and its unit, or between its digits.
pub(super) fn whole(sentence: &str) -> String {
    let words = crate::wrap::words(sentence).into_iter().map(|word| word.replace(' ', "\u{a0}"));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_html_is_not() {
        let name = "<b a=\"1\" c='2'>&";
        let inner = html!("<i>{name}</i>", name = name);
        assert_eq!(inner.as_str(), "<i>&lt;b a=&quot;1&quot; c=&#x27;2&#x27;&gt;&amp;</i>");
        let outer: Html = [html!("<p>{inner}{n}</p>", inner = inner, n = 3_usize)].into_iter().collect();
        assert_eq!(outer.as_str(), format!("<p>{}3</p>", inner.as_str()));
        assert_eq!(outer.only_if(false), Html::default());
    }
}
