//! Types that files and messages keep as text.

/// Makes serde keep types as text: `TryFrom<String>` by their `FromStr`, `String` by their `Display`.
#[macro_export]
macro_rules! as_text {
    ($($name:ty),*) => {$(
        impl TryFrom<String> for $name {
            type Error = <$name as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    )*};
}
