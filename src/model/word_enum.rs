//! Enumerations whose values are words of labels and reports.

/// Declares an enumeration with the word of each value; adds `ALL`, in the order of declaration, and `as_str`.
#[macro_export]
macro_rules! word_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $word:literal, )* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $( $(#[$variant_meta])* $variant, )* }

        #[allow(dead_code, reason = "not every enumeration is listed")]
        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: [$name; [$( $word ),*].len()] = [$( $name::$variant ),*];

            /// As in labels and reports.
            pub const fn as_str(self) -> &'static str {
                match self { $( $name::$variant => $word, )* }
            }
        }
    };
}
pub use word_enum;
