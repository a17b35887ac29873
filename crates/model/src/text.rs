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

/// Defines an enum of plain words, written as and listed by its names; parsed from them too, if a name of what they are is given.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])* $name:ident $(, $what:literal)?:
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// All of them, in the order they are offered.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// The name used in options and files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        $(impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let names = $name::ALL.map($name::name);
                let place = names.iter().position(|name| *name == text);
                place.map(|at| $name::ALL[at]).ok_or_else(|| $crate::error::not_one_of($what, text, &names))
            }
        })?
    };
}
