//! HTML put together piece by piece: text becomes text, whatever is in it.

use std::borrow::Cow;

use crate::printable::escape_markup;

/// HTML, whole elements of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Html(String);

impl Html {
    /// Wraps text that is HTML, a style or a script already, without escaping it.
    pub(super) fn from_raw(html: impl Into<String>) -> Self {
        Html(html.into())
    }

    /// The HTML if the condition holds, else nothing.
    pub(super) fn only_if(self, condition: bool) -> Self {
        if condition { self } else { Html::default() }
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

/// A value that an HTML template can hold; text is escaped.
pub(super) trait ToHtml {
    fn to_html(&self) -> Cow<'_, str>;
}

impl ToHtml for Html {
    fn to_html(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }
}

impl ToHtml for usize {
    fn to_html(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl ToHtml for u32 {
    fn to_html(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl ToHtml for str {
    fn to_html(&self) -> Cow<'_, str> {
        escape_markup(self)
    }
}

impl ToHtml for String {
    fn to_html(&self) -> Cow<'_, str> {
        self.as_str().to_html()
    }
}

impl<T: ToHtml + ?Sized> ToHtml for &T {
    fn to_html(&self) -> Cow<'_, str> {
        (**self).to_html()
    }
}

/// HTML after a template, with a value for each `{name}` in it. There is no other way into the template: `concat!` takes
/// the names of variables out of reach.
macro_rules! html {
    ($template:expr $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::page::html::Html::from_raw(format!(
            concat!($template)
            $(, $name = $crate::page::html::ToHtml::to_html(&$value))*
        ))
    };
}
pub(super) use html;

/// A sentence in which no line ends between a number and its unit, or between its digits.
pub(super) fn with_nonbreaking_spaces(sentence: &str) -> String {
    let words = crate::wrap::unbreakable_words(sentence).into_iter().map(|word| word.replace(' ', "\u{a0}"));
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
