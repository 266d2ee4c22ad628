//! Typed ids of what only a program has.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into its table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has at most 2^32 entries"))
            }
        }
    )*};
}

ids! {
    /// A function of a program.
    FunctionId,
    /// A block of a function.
    BlockId,
    /// A register of a function.
    RegisterId,
    /// A global variable of a program.
    GlobalId,
}
